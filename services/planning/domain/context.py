"""What the agent was told of objective and plan in a turn (C.6): what did it know when it decided?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from services.planning.domain.prompt import compose
from services.planning.domain.snapshot import sha256
from services.planning.domain.step import Steps
from services.planning.domain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Context:
    """`turn`, `turn_id`: where it was told, 0 and empty where it is only shown. `version`: of the plan. `told_at` None:
    not kept, because there was nothing to tell or nobody to be told."""

    turn: int
    turn_id: str
    text: str
    sha256: str
    version: int
    told_at: datetime | None


def context_of(workspace: Workspace, steps: Steps, turn: int = 0, turn_id: str = "") -> Context:
    """What would be told now."""
    text = compose(workspace.objective, steps, workspace.plan_version)
    return Context(turn, turn_id, text, sha256(text.encode()), workspace.plan_version, None)
