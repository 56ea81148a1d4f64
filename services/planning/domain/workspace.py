"""A conversation's workspace: what of it lies in one row, and when it may be changed (C2, C5, P.1, P.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from services.planning.domain import errors

AGENT: Final = "agent"
USER: Final = "user"
By = Literal["agent", "user"]


class Making(StrEnum):
    """How far a workspace is made. `opening`: everything is there, streaming is about to take prompts."""

    FORKING = "forking"
    OPENING = "opening"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Workspace:
    """`turn` is the number of the newest turn, 0 before the first; `turn_id` and `running` are of that one.
    `family`: the first session of all that branched from one another. `objective` empty: none."""

    tenant: str
    session_id: str
    family: str
    making: Making
    created_at: datetime
    updated_at: datetime
    objective: str = ""
    objective_version: int = 0
    objective_by: str = ""
    objective_at: datetime | None = None
    objective_turn: int = 0
    """The turn under way when a person last set it; 0: none was."""
    plan_version: int = 0
    turn: int = 0
    turn_id: str = ""
    running: bool = False
    parent_id: str = ""
    fork_turn: int = 0


def check_changeable(workspace: Workspace, by: By, turn_id: str) -> None:
    """Refuses changes of a branch that is still being made, and what comes after the end of its turn: an agent's
    call needs a turn under way, and whoever names a turn means that one."""
    if workspace.making is not Making.READY:
        raise errors.branch_forking()
    if turn_id and not (workspace.running and workspace.turn_id == turn_id):
        raise errors.turn_ended()
    if by == AGENT and not workspace.running:
        raise errors.turn_ended()


def check_reorderable(workspace: Workspace, by: By) -> None:
    """A person does not shift the indices that an agent at work remembers."""
    if by == USER and workspace.running:
        raise errors.turn_in_progress(workspace.turn)


def check_version(workspace: Workspace, expected: int | None) -> None:
    """The plan is as the caller knows it."""
    if expected is not None and expected != workspace.plan_version:
        raise errors.plan_changed(workspace.plan_version)


NOTICE: Final = (
    "The user has edited the objective during this turn; your text was not stored. Go by theirs, or pass force if they"
    " asked you to replace it."
)


def keeps_the_users(workspace: Workspace, by: By, force: bool) -> bool:
    """Whether an agent's text has to stand back: a person has set it during the turn under way (C5)."""
    if by == USER or force or workspace.objective_by != USER or not workspace.running:
        return False
    return workspace.objective_turn == workspace.turn


def with_objective(workspace: Workspace, text: str, by: By, now: datetime) -> Workspace:
    """The objective set, or cleared by an empty text."""
    return replace(
        workspace,
        objective=text,
        objective_version=workspace.objective_version + 1,
        objective_by=by,
        objective_at=now,
        objective_turn=workspace.turn if by == USER and workspace.running else 0,
        updated_at=now,
    )


def with_plan(workspace: Workspace, now: datetime) -> Workspace:
    """The plan has changed."""
    return replace(workspace, plan_version=workspace.plan_version + 1, updated_at=now)
