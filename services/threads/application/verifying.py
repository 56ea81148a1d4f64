"""`verify`: what can be checked from the data alone (invariants I1, I2, I3, I7). Reports, repairs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from services.threads.application.ports import JobKind
from services.threads.domain.cascade import Tally, is_met
from services.threads.domain.events import Event
from services.threads.domain.evolve import rebuild
from services.threads.domain.kinds import Kind
from services.threads.domain.limits import DEPTH_MAX
from services.threads.domain.proposal import as_object
from services.threads.domain.reading import text
from services.threads.domain.states import INFERRING, TERMINAL, State
from services.threads.domain.thread import Thread

_RUN = {State.EXECUTING: JobKind.EXECUTION, State.CLEANING_UP: JobKind.CLEANUP}
_WORKED_ON = {
    State.AWAITING_INFERENCE: (JobKind.INFERENCE, "queued"),
    **dict.fromkeys(INFERRING.values(), (JobKind.INFERENCE, "leased")),
}


CHECKS: Final = (
    "every log is without holes and makes exactly its row, items included",
    "nothing moved after an end, and every move follows the one before",
    "a proposal was approved at most once, and what is not idempotent started at most once",
    "what is worked on has exactly one live job, and nothing else has one",
    "every parent counts its children right: all, open, dismissed",
    "no closed parent has a live child, no open one a policy that is satisfied",
    "every line of ancestors is one: no cycle, no gap, at most 32",
    "timers are set where a state ends by itself, and nowhere else",
)
"""For people: what `faults` looks at."""


@dataclass(frozen=True)
class Place:
    """Where the row says that it stands; `path_of_parent` None: there is no such parent."""

    parent_id: str | None
    path: tuple[str, ...]
    path_of_parent: tuple[str, ...] | None


@dataclass(frozen=True)
class Stored:
    """Everything stored about one thread, read in one snapshot."""

    tenant: str
    thread: Thread
    state_column: str
    session_column: str | None
    timer: datetime | None
    events: Sequence[Event]
    live_jobs: Sequence[tuple[str, str]]
    """(kind, state) of jobs that are queued or leased."""
    tally: Tally
    """The children as they are counted."""
    place: Place
    columns: tuple[int, int]
    """The columns children and open_children."""
    ends_early: bool
    policy_met: bool
    executing_below: bool
    """Whether a descendant executes; looked at only where the policy is met."""


def faults(stored: Stored) -> list[str]:
    """What is wrong with one thread, in words; empty when nothing is."""
    found = [*_log(stored), *_work(stored), *_ledger(stored)]
    thread = stored.thread
    if stored.state_column != thread.state:
        found.append(f"the column says {stored.state_column}, the document {thread.state}")
    if (stored.session_column or "") != thread.session_id:
        found.append(f"the column says session {stored.session_column}, the document {thread.session_id}")
    found += [*_place(stored), *_children(stored)]
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


def _place(stored: Stored) -> list[str]:
    """Its line of ancestors is one (section 0.4)."""
    thread, place = stored.thread, stored.place
    parent = place.path[-1] if place.path else None
    above = () if place.path_of_parent is None else place.path_of_parent
    if place.parent_id != parent or (parent is not None and place.path != (*above, parent)):
        return [f"its ancestors {list(place.path)} are not its parent's, whose are {list(above)}"]
    if len(place.path) > DEPTH_MAX:
        return [f"it has {len(place.path)} ancestors"]
    return [] if (thread.parent_id, thread.path) == (parent, place.path) else ["its document has other ancestors"]


def _children(stored: Stored) -> list[str]:
    """Counts are right; no closed parent has a live child, no open one a policy that is satisfied (I2)."""
    thread, counted = stored.thread, stored.tally
    found = [
        f"{name} is {kept}, counted {really}"
        for name, kept, really in (
            ("children", thread.children, counted.children),
            ("open_children", thread.open_children, counted.open),
            ("dismissed_children", thread.dismissed_children, counted.dismissed),
            ("the column children", stored.columns[0], counted.children),
            ("the column open_children", stored.columns[1], counted.open),
            ("ends_early", stored.ends_early, thread.policy_in_force.ends_early),
            ("policy_met", stored.policy_met, thread.policy_met),
        )
        if kept != really
    ]
    if thread.state in TERMINAL and counted.open:
        found.append("it is closed and has live children")
    if thread.state is State.MONITORING and is_met(thread.policy_in_force, counted) and not stored.executing_below:
        found.append("its children satisfy its policy and it is open")
    if thread.state not in (*TERMINAL, State.MONITORING) and counted.open:
        found.append(f"in {thread.state} it has live children")
    if thread.state is State.MONITORING and not counted.children:
        found.append("it waits for children that it does not have")
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
