"""What becomes of a worker whose runner was lost (C.3). Pure: a table over what is known of it and of its session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from services.coordination.domain.worker import Reason

LAUNCHES: Final = 2
"""How often a worker is begun that has not said a word."""


@dataclass(frozen=True, slots=True)
class Stranded:
    """A worker without a runner. `said`: its agent has said something, as the worker's row or its turn know. `turn`:
    None where its session has none; `attended`: a runner still holds the session; `for_long`: it has been without a
    runner for longer than a lost one takes to be noticed in its session, too."""

    launches: int
    said: bool
    stop_reason: str = ""
    turn: str | None = None
    attended: bool = False
    for_long: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """Another runner is wanted: to begin anew, or to go on watching what goes on by itself."""


@dataclass(frozen=True, slots=True)
class Later:
    """It is not clear yet: look again."""


@dataclass(frozen=True, slots=True)
class Over:
    """It has ended; with the text of its turn, if it has one."""

    reason: Reason


Verdict = Again | Later | Over


def unless_faster(why: Reason, turn: str | None) -> Reason:
    """Why a worker has ended that is stopped, or lost: an end of its turn that was faster counts (B4)."""
    return {"ok": Reason.COMPLETED, "truncated": Reason.BUDGET_EXHAUSTED}.get(turn or "", why)


def verdict(of: Stranded) -> Verdict:
    """`turn` is `running`, `waiting`, or how it ended: `ok`, `truncated`, `aborted` or `failed`."""
    if of.stop_reason:
        return Over(unless_faster(Reason(of.stop_reason), of.turn))
    match of.turn:
        case "ok" | "truncated":
            return Over(unless_faster(Reason.RUNNER_LOST, of.turn))
        case "aborted":
            return Over(Reason.INTERRUPTED)  # somebody stopped its session: it is not begun anew
        case "waiting":
            return Again()
        case "running":
            # The same runner may have held the session: then its turn is about to fail, and to be begun anew.
            return Again() if of.attended and of.for_long else Later()
        case _ if of.said or of.launches >= LAUNCHES:
            return Over(Reason.RUNNER_LOST)
        case _:
            return Again()
