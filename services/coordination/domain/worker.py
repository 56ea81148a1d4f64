"""A worker and its statuses as a table (A2, C.3). Pure. An end stays: only `unknown` may be replaced by anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """Where the work is done: by a runner, or in a session that runs elsewhere."""

    SUBAGENT = "subagent"
    SESSION = "session"


class Status(StrEnum):
    """Where a worker stands."""

    SPAWNING = "spawning"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """Why a worker ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    BUDGET_EXHAUSTED = "budget_exhausted"
    LAUNCH_FAILED = "launch_failed"
    RESULT_TOO_LARGE = "result_too_large"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    RUNNER_LOST = "runner_lost"


ENDS: Final = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.INTERRUPTED})
"""Statuses that stay."""

STATUS_OF: Final[dict[Reason, Status]] = {
    Reason.COMPLETED: Status.SUCCEEDED,
    Reason.FAILED: Status.FAILED,
    Reason.TIMEOUT: Status.FAILED,
    Reason.BUDGET_EXHAUSTED: Status.FAILED,
    Reason.LAUNCH_FAILED: Status.FAILED,
    Reason.RESULT_TOO_LARGE: Status.FAILED,
    Reason.CANCELLED: Status.CANCELLED,
    Reason.INTERRUPTED: Status.INTERRUPTED,
    Reason.RUNNER_LOST: Status.INTERRUPTED,
}
"""The status that a reason ends in."""


def may_follow(status: Status, to: Status) -> bool:
    """Whether a worker in `status` may come into `to` (another one)."""
    match status:
        case Status.SPAWNING:
            return to is not Status.SPAWNING
        case Status.RUNNING:
            return to in ENDS or to is Status.UNKNOWN
        case Status.UNKNOWN:
            return to is not Status.UNKNOWN
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Coordinator:
    """A coordinator's record. Budgets: 0 is no limit; `spent_ms` are milliseconds of runners."""

    tenant: str
    session_id: str
    enabled: bool
    created_at: datetime
    updated_at: datetime
    auto_wake: bool = False
    budget_seconds: int = 0
    budget_tokens: int = 0
    spent_ms: int = 0
    spent_tokens: int = 0
    adapter: str = ""
    provider: str = ""
    model: str = ""
    note_seq: int = 0
    deleted: bool = False

    @property
    def spent_budget(self) -> tuple[str, int] | None:
        """What is spent, `seconds` or `tokens`, and how much of it there was; None while there is something left."""
        if 0 < self.budget_seconds * 1000 <= self.spent_ms:
            return "seconds", self.budget_seconds
        if 0 < self.budget_tokens <= self.spent_tokens:
            return "tokens", self.budget_tokens
        return None


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker's row. `said`: its agent has said something, so it is not started again by itself. `launches`: how
    often a runner took it. `stop_reason`: a stop was asked for, and why (a Reason); `stop_by`: when the service ends it
    itself; `cancel_reason`: the words of whoever cancelled it. `late`: it ended after the turn that spawned it."""

    tenant: str
    id: str
    coordinator_id: str
    name: str
    kind: Kind
    status: Status
    brief: str
    session_id: str
    spawned_by: str
    created_at: datetime
    updated_at: datetime
    context: str = ""
    reason: str = ""
    has_result: bool = False
    partial: bool = False
    late: bool = False
    adapter: str = ""
    provider: str = ""
    model: str = ""
    thinking: str = ""
    timeout_seconds: int = 0
    spawned_by_turn: str = ""
    job_id: str = ""
    launches: int = 0
    said: bool = False
    waiting: bool = False
    stop_reason: str = ""
    cancel_reason: str = ""
    spent_ms: int = 0
    tokens: int = 0
    billed_at: datetime | None = None
    note_seq: int = 0
    report_version: int = 0
    collected_version: int = 0
    started_at: datetime | None = None
    expires_at: datetime | None = None
    stop_by: datetime | None = None
    ended_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether its status stays."""
        return self.status in ENDS
