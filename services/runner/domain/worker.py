"""A worker as its runner sees it: what it is told, where its session's turn stands, how it ended (C.2, C.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from services.runner.domain.session import FINAL_TEXT_BYTES


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """What a worker's job says. `session`: `sessions/{id}`; `token` acts for that session alone."""

    worker: str
    name: str
    session: str
    title: str
    prompt: str
    adapter: str
    provider: str
    model: str
    thinking: str
    coordinator: str
    token: str = field(repr=False)


class TurnState(StrEnum):
    """Where a turn stands."""

    RUNNING = "running"
    WAITING = "waiting"
    IDLE = "idle"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """A turn of a worker's session. `code`: why it failed; `said`: its agent has said anything."""

    id: str
    state: TurnState
    outcome: str = ""
    code: str = ""
    said: bool = False
    tokens: int = 0

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.state in (TurnState.IDLE, TurnState.FAILED)

    @property
    def unheard(self) -> bool:
        """It failed before its agent said anything: to ask again does nothing twice."""
        return self.state is TurnState.FAILED and not self.said


class Reason(StrEnum):
    """Why a worker ended (C.3); the service's words."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    BUDGET_EXHAUSTED = "budget_exhausted"
    RESULT_TOO_LARGE = "result_too_large"
    LAUNCH_FAILED = "launch_failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    RUNNER_LOST = "runner_lost"


@dataclass(frozen=True, slots=True)
class WorkerEnd:
    """How a worker ended. `text`: its final text, whole or as far as it came; `detail` is for the log."""

    reason: Reason
    text: str = ""
    tokens: int = 0
    detail: str = ""


_LONGEST_CHARACTER: Final = 4
"""Bytes: a text is cut between two characters."""
_FAILURES: Final = {"provider_timeout": Reason.TIMEOUT, "runner_lost": Reason.RUNNER_LOST}


def reason_of(turn: SessionTurn, text: str, stopping: bool) -> Reason:
    """What the end of the worker's turn means, and of the text that is kept of it. `stopping`: we were asked to stop
    it; what was faster counts."""
    match turn.state, turn.outcome:
        case TurnState.FAILED, _:
            if turn.code == "start_failed" and not turn.said:
                return Reason.LAUNCH_FAILED
            return _FAILURES.get(turn.code, Reason.FAILED)
        case _, "truncated":
            cut_by_size = len(text.encode()) > FINAL_TEXT_BYTES - _LONGEST_CHARACTER
            return Reason.RESULT_TOO_LARGE if cut_by_size else Reason.BUDGET_EXHAUSTED
        case _, "aborted":
            return Reason.CANCELLED if stopping else Reason.INTERRUPTED
        case _:
            return Reason.COMPLETED
