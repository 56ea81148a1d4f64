"""The refusals of coordination; reasons are those of `error_reason.proto`."""

from __future__ import annotations

from services.coordination.domain.worker import Worker
from services.kernel.errors import AlreadyExists, Conflict, Denied, Exhausted, NotAllowed, NotFound, Unavailable


def session_not_found(session_id: str) -> NotFound:
    """No such session, or not any more."""
    return NotFound("SESSION_NOT_FOUND", "there is no such session", session=session_id)


def coordinator_not_found(session_id: str) -> NotFound:
    """The session has no record."""
    return NotFound("COORDINATOR_NOT_FOUND", "this session coordinates no workers", session=session_id)


def worker_not_found(name: str) -> NotFound:
    """The coordinator has no worker of that name."""
    return NotFound("WORKER_NOT_FOUND", "the coordinator has no worker of that name", thread_name=name[:64])


def name_taken(name: str) -> AlreadyExists:
    """One name, one worker (A1)."""
    return AlreadyExists("NAME_TAKEN", f"a worker named {name} already exists", thread_name=name)


def already_registered(session_id: str) -> AlreadyExists:
    """One session, one worker, of one coordinator (A6)."""
    return AlreadyExists("WORKER_ALREADY_REGISTERED", "this session is a worker already", worker_session_id=session_id)


def worker_ended(worker: Worker) -> Conflict:
    """An end stays (A2)."""
    return Conflict(
        "WORKER_ENDED",
        f"the worker {worker.name} has ended as {worker.status}",
        thread_name=worker.name,
        status=worker.status,
        reason=worker.reason,
    )


def worker_managed(worker: Worker) -> NotAllowed:
    """A managed worker's status comes from its runs."""
    return NotAllowed("WORKER_MANAGED", "a managed worker ends by itself, or by thread_cancel", worker_kind=worker.kind)


def not_yours() -> Denied:
    """An agent acts for the session of its credential; a worker on its own thread."""
    return Denied("NOT_YOURS", "a worker acts on its own thread, a coordinator on its own workers")


def depth_exceeded() -> NotAllowed:
    """Depth 1 (C.2)."""
    return NotAllowed("DEPTH_EXCEEDED", "a worker cannot have workers of its own")


def thread_mode_disabled() -> NotAllowed:
    """The session is no coordinator, or thread mode is off."""
    return NotAllowed("THREAD_MODE_DISABLED", "thread mode is off in this conversation: a person turns it on")


def no_live_turn() -> NotAllowed:
    """Spawning needs a live turn; the words are those of C.2."""
    return NotAllowed(
        "NO_LIVE_TURN",
        "thread_spawn needs a live coordinator turn (no active parent session). "
        "Create the worker from the thread view instead.",
    )


def turn_not_live(turn_id: str) -> NotAllowed:
    """What an agent is told at a turn's start is composed for the turn under way (C.6)."""
    return NotAllowed("NO_LIVE_TURN", "this turn of the session is not under way: begin one", turn=turn_id or None)


def turn_ended() -> NotAllowed:
    """The turn was aborted, or its session deleted, while workers were being spawned."""
    return NotAllowed("TURN_ENDED", "the coordinator's turn has been stopped: nothing was spawned")


def too_many_threads(limit: int, what: str) -> Exhausted:
    """A cap of C.2. `what` is counted."""
    return Exhausted("TOO_MANY_THREADS", f"a coordinator may have at most {limit} {what}", limit=limit)


def too_many_reports(limit: int) -> Exhausted:
    """Reports are kept for good, so there is an end to them; the final one is never refused for it."""
    message = f"a worker may hand in at most {limit} reports before its final one"
    return Exhausted("TOO_MANY_REPORTS", message, limit=limit)


def budget_exhausted(budget: str, limit: int) -> Exhausted:
    """The coordinator's budget is spent. `budget`: seconds or tokens."""
    message = f"the budget of {limit} {budget} of this conversation's workers is spent"
    return Exhausted("BUDGET_EXHAUSTED", message, budget=budget, limit=limit)


def streaming_unavailable() -> Unavailable:
    """Nobody can say whether the turn is live."""
    return Unavailable("STREAMING_UNAVAILABLE", "the streaming service cannot be asked right now")


def draining() -> Unavailable:
    """This server stops; another one goes on waiting."""
    return Unavailable("STREAM_DRAINING", "this server is stopping: wait again")


def injection_not_found(session_id: str, turn_id: str) -> NotFound:
    """Nothing was injected, or not there."""
    return NotFound("INJECTION_NOT_FOUND", "no injection is stored for this", session=session_id, turn=turn_id or None)
