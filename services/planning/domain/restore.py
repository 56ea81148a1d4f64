"""Where what the workspace was after a turn is found (C2): in what the next turn kept, or live for the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.planning.domain import errors


@dataclass(frozen=True, slots=True)
class TurnMark:
    """A turn as far as restoring looks at it. `kept`: it has a snapshot."""

    number: int
    running: bool
    kept: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """In the snapshot of this turn."""

    number: int


@dataclass(frozen=True, slots=True)
class Live:
    """In the live workspace."""


def resolve(turn: int, this: TurnMark | None, following: TurnMark | None) -> Kept | Live:
    """`this` is the turn of that number (turn 0 needs none), `following` its successor in order. Live only where no
    turn follows, never because a snapshot is missing."""
    if turn != 0 and this is None:
        raise errors.turn_not_found(turn)
    if following is not None:
        if not following.kept:
            raise errors.restore_unavailable(turn)
        return Kept(following.number)
    if this is not None and this.running:
        raise errors.turn_in_progress(turn)
    return Live()


def restorable(this: TurnMark, following: TurnMark | None) -> bool:
    """Whether `resolve` answers."""
    return not this.running if following is None else following.kept


@dataclass(frozen=True, slots=True)
class Stretch:
    """Turns above `low`, up to `high`, of the line of one session: what a branch has of its ancestors, or its own.
    A line's turns never change once another session stands on them, so that they are shared, not copied."""

    line: str
    low: int
    high: int


OPEN_END = 2**31 - 1
"""`high` of a session's own stretch."""


def fork(stretches: Sequence[Stretch], turn: int, branch: str) -> list[Stretch]:
    """The stretches of a branch made after `turn`: its ancestors' up to there, then its own."""
    kept = [
        Stretch(one.line, one.low, min(one.high, turn))
        for one in sorted(stretches, key=lambda one: one.low)
        if one.low < turn
    ]
    return [*kept, Stretch(branch, turn, OPEN_END)]
