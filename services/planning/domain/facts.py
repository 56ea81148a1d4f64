"""The facts that planning publishes: thin, allow-listed (treadle.planning.v1.PlanFact)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

TYPE: Final = "plan"


@dataclass(frozen=True, slots=True)
class Told:
    """What happened: `kind` is objective, plan, document, turn, branch or deleted."""

    kind: str
    session_id: str
    version: int = 0
    turn: int = 0
    document: str = ""
    branch_session_id: str = ""
    state: str = ""


def payload(told: Told, event_id: str, actor: str, now: datetime) -> dict[str, Any]:
    """As the fact's payload."""
    return {
        "event_id": event_id,
        "kind": told.kind,
        "session_id": told.session_id,
        "version": told.version,
        "turn": told.turn,
        "document": told.document,
        "branch_session_id": told.branch_session_id,
        "state": told.state,
        "actor": actor,
        "time": now.isoformat().replace("+00:00", "Z"),
    }
