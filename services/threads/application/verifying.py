"""`verify`: what can be checked from the data alone (invariants I1, I2, I3, I7). Reports, repairs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from services.threads.application.ports import JobKind
from services.threads.domain.events import Event
from services.threads.domain.evolve import rebuild
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import as_object
from services.threads.domain.reading import text
from services.threads.domain.states import INFERRING, TERMINAL, State
from services.threads.domain.thread import Thread

_RUN = {State.EXECUTING: JobKind.EXECUTION, State.CLEANING_UP: JobKind.CLEANUP}
_WORKED_ON = {
    State.AWAITING_INFERENCE: (JobKind.INFERENCE, "queued"),
    **dict.fromkeys(INFERRING.values(), (JobKind.INFERENCE, "leased")),
}


@dataclass(frozen=True)
class Stored:
    """Everything stored about one thread, read in one snapshot."""

    thread: Thread
    state_column: str
    timer: datetime | None
    events: Sequence[Event]
    live_jobs: Sequence[tuple[str, str]]
    """(kind, state) of jobs that are queued or leased."""
    open_children: int


def faults(stored: Stored) -> list[str]:
    """What is wrong with one thread, in words; empty when nothing is."""
    found = [*_log(stored), *_work(stored), *_ledger(stored)]
    thread = stored.thread
    if stored.state_column != thread.state:
        found.append(f"the column says {stored.state_column}, the document {thread.state}")
    if thread.open_children != stored.open_children:
        found.append(f"open_children is {thread.open_children}, counted {stored.open_children}")
    if thread.state in TERMINAL and stored.open_children:
        found.append("it is closed and has live children")
    timed = thread.state in (State.PROPOSED, State.AWAITING_REVIEW)
    if timed != (stored.timer is not None):
        found.append(f"in {thread.state} its timer is {stored.timer}")
    return [f"{thread.thread_id}: {fault}" for fault in found]


def _log(stored: Stored) -> list[str]:
    """The log is dense and makes the row, and nothing moves after an end."""
    try:
        rebuilt = rebuild(stored.events)
    except ValueError as fault:
        return [str(fault)]
    found = [] if rebuilt == stored.thread else ["the log does not rebuild the row"]
    moves = [event.data for event in stored.events if event.kind is Kind.STATE_TRANSITION]
    if any(text(move, "from") in TERMINAL for move in moves):
        found.append("it moved after an end")
    if any(text(one, "to") != text(two, "from") for one, two in pairwise(moves)):
        found.append("its moves are no chain")
    return found


def _work(stored: Stored) -> list[str]:
    """Exactly the states that are worked on have a live job, and only one."""
    state, jobs = stored.thread.state, list(stored.live_jobs)
    if state in _RUN:
        right = len(jobs) == 1 and jobs[0][0] == _RUN[state]
    elif state in _WORKED_ON:
        right = jobs == [_WORKED_ON[state]]
    else:
        right = not jobs
    return [] if right else [f"in {state} its live jobs are {jobs}"]


def _ledger(stored: Stored) -> list[str]:
    """A proposal is approved at most once, and an action that is not idempotent starts at most once an approval."""
    approved: dict[str, int] = {}
    started: dict[str, int] = {}
    for event in stored.events:
        if event.data.get("trigger") == "execute":
            proposal = text(as_object(event.data.get("decision")), "proposal_id")
            approved[proposal] = approved.get(proposal, 0) + 1
        if event.kind is Kind.EXECUTION_STARTED:
            proposal = text(event.data, "proposal_id")
            started[proposal] = started.get(proposal, 0) + 1
    found = [f"{proposal} was approved {times} times" for proposal, times in approved.items() if times > 1]
    idempotent = {
        text(event.data, "proposal_id")
        for event in stored.events
        if event.kind is Kind.ACTION_INFERRED and as_object(event.data.get("payload")).get("idempotent")
    }
    again = {proposal: times for proposal, times in started.items() if times > 1 and proposal not in idempotent}
    return [*found, *(f"{proposal} was started {times} times" for proposal, times in again.items())]
