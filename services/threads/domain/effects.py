"""What has to happen besides the log: jobs to enqueue or cancel, and the thread's one timer. Derived from
events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from services.threads.domain.canonical import JsonObject
from services.threads.domain.events import Event
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import as_object
from services.threads.domain.reading import text
from services.threads.domain.states import INFERRING, State, Target
from services.threads.domain.thread import Thread
from services.threads.domain.timing import Timing
from services.threads.domain.triggers import JOB_DRIVEN, Trigger


@dataclass(frozen=True)
class EnqueueInference:
    """A runner is to infer `target`."""

    target: Target


@dataclass(frozen=True)
class EnqueueExecution:
    """A runner is to execute exactly this proposal."""

    proposal_id: str
    digest: str
    idempotent: bool


@dataclass(frozen=True)
class EnqueueCleanup:
    """The source of the thread is to be cleaned up: adapter and parameters."""

    task: JsonObject


@dataclass(frozen=True)
class CancelJobs:
    """No job of the thread is wanted any more: queued ones end, a running one is told by its heartbeat."""


@dataclass(frozen=True)
class SetTimer:
    """The state ends by itself at `due`, UTC; replaces the thread's timer."""

    due: datetime


@dataclass(frozen=True)
class ClearTimer:
    """The thread has no timer."""


Effect: TypeAlias = EnqueueInference | EnqueueExecution | EnqueueCleanup | CancelJobs | SetTimer | ClearTimer

_AT_WORK = frozenset({State.AWAITING_INFERENCE, *INFERRING.values(), State.EXECUTING, State.CLEANING_UP})
_TIMED = frozenset({State.PROPOSED, State.AWAITING_REVIEW})


def effects(events: Iterable[Event], after: Thread, timing: Timing) -> tuple[Effect, ...]:
    """The effects of one command's events, cancellations first. A retried inference keeps its own job."""
    moves = [event.data for event in events if event.kind is Kind.STATE_TRANSITION]
    wanted: list[Effect] = []
    for data in moves:
        trigger, before, to = text(data, "trigger"), text(data, "from"), text(data, "to")
        if before in _AT_WORK and trigger not in JOB_DRIVEN:
            wanted.append(CancelJobs())
        waits = to == State.AWAITING_INFERENCE and after.state is State.AWAITING_INFERENCE
        if waits and trigger != Trigger.INFERENCE_LOST:
            wanted.append(EnqueueInference(Target(text(data, "target"))))
        elif to == State.EXECUTING and after.state is State.EXECUTING and after.proposal is not None:
            proposal = after.proposal
            wanted.append(EnqueueExecution(proposal.proposal_id, proposal.digest, proposal.idempotent))
        elif to == State.CLEANING_UP:
            wanted.append(EnqueueCleanup(as_object(data.get("cleanup"))))
    return (*wanted, *_timer(moves, after, timing))


def _timer(moves: list[JsonObject], after: Thread, timing: Timing) -> tuple[Effect, ...]:
    if after.state in _TIMED and after.since == after.update_time:
        span = timing.proposed_expiry if after.state is State.PROPOSED else timing.review_auto_accept
        return (SetTimer(after.since + span),)
    left = any(text(data, "from") in _TIMED for data in moves)
    return (ClearTimer(),) if left and after.state not in _TIMED else ()
