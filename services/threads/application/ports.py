"""What the use cases need from the outside, named for the need."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from services.kernel.idempotency import Key
from services.threads.domain.canonical import JsonObject
from services.threads.domain.effects import Effect
from services.threads.domain.errors import Decided
from services.threads.domain.events import Event
from services.threads.domain.hoisting import Member
from services.threads.domain.registration import Registration
from services.threads.domain.states import State
from services.threads.domain.thread import ContextItem, Thread


class JobKind(StrEnum):
    """What a runner of threads can be asked to do."""

    INFERENCE = "inference"
    EXECUTION = "execution"
    CLEANUP = "cleanup"


@dataclass(frozen=True)
class Job:
    """A job's row as far as threads look at it. `payload` is what its command wrote, not what a runner
    gets.
    """

    id: str
    tenant: str
    thread_id: str
    kind: JobKind
    state: str
    payload: JsonObject
    attempt: int
    fence: int
    started: bool
    lease_until: datetime | None
    reason: str | None
    runner_id: str | None = None
    """Who holds it, or held it last."""


@dataclass(frozen=True)
class Ancestor:
    """As much of an unlocked row as tells how far up a command has to lock."""

    id: str
    open_children: int
    ends_early: bool


@dataclass(frozen=True)
class Change:
    """What one thread of a family becomes; a first event of seq 1 is a new thread."""

    after: Thread
    events: tuple[Event, ...]
    effects: tuple[Effect, ...] = ()


class Work(Protocol):
    """One transaction. Threads are locked before jobs, and a claim never waits (decision 8)."""

    @property
    def written(self) -> Sequence[Change]:
        """All that this transaction has written so far, in order."""
        ...

    async def remember(self, key: Key | None, digest: bytes) -> bytes | None:
        """The stored answer of a repeated request, None for a new one."""
        ...

    async def store(self, key: Key | None, answer: bytes) -> None:
        """Keep the answer for repeats."""
        ...

    async def open_proposals(self, tenant: str, session_id: str) -> int:
        """How many threads that were proposed in the session are open; until this transaction ends, no other one is
        told so of the same session.
        """
        ...

    async def lock(self, tenant: str, thread_id: str) -> Thread:
        """The thread, locked FOR NO KEY UPDATE, without its items. ThreadNotFound."""
        ...

    async def read(self, tenant: str, thread_id: str) -> Thread:
        """The thread, not locked. ThreadNotFound."""
        ...

    async def items(self, tenant: str, thread_id: str) -> tuple[ContextItem, ...]:
        """The items of a locked thread: locking brings none, and what is read before the lock may be gone."""
        ...

    async def move_items(self, tenant: str, ids: Sequence[str], source: str, to: Thread) -> int:
        """One conditional update: the items that `source` owns are `to`'s now, last and in this order; how many."""
        ...

    async def deleted(self, tenant: str, umbrella_id: str, child_id: str) -> bool:
        """Whether the umbrella's log says that the column was deleted."""
        ...

    async def try_lock(self, tenant: str, thread_id: str) -> Thread | None:
        """As `lock`, but None at once when somebody else has it."""
        ...

    async def write(self, tenant: str, after: Thread, events: Sequence[Event], effects: Sequence[Effect]) -> None:
        """Append events, write the row, set the timer, enqueue and cancel jobs, and write the outbox, in
        this order.
        """
        ...

    async def lock_root(self, tenant: str, thread_id: str) -> Thread | None:
        """The thread, locked, if it has no parent; else None, and nothing is locked."""
        ...

    async def lineage(self, tenant: str, thread_id: str) -> list[Ancestor]:
        """The ancestors, root first, and the thread itself as the last, unlocked. ThreadNotFound."""
        ...

    async def lock_chain(self, tenant: str, ids: Sequence[str]) -> list[Thread]:
        """A line of ancestors and descendants, locked ancestors first."""
        ...

    async def try_lock_chain(self, tenant: str, ids: Sequence[str]) -> list[Thread]:
        """As `lock_chain`, without those that somebody else has."""
        ...

    async def lock_open_children(self, tenant: str, parents: Sequence[str]) -> list[Thread]:
        """The live children of locked parents, locked in the order of their ids."""
        ...

    async def has_open_child(self, tenant: str, thread_id: str) -> bool:
        """Whether a child is live, as this transaction sees it."""
        ...

    async def met_above(self, tenant: str, path: Sequence[str]) -> bool:
        """Whether one of these ancestors has what it needs and waits only for what executes."""
        ...

    async def write_many(self, tenant: str, changes: Sequence[Change]) -> None:
        """As `write` for many threads, in few statements; parents before their new children."""
        ...

    async def settled(self, tenant: str, thread_id: str, proposal_id: str) -> Decided | None:
        """The line of the ledger that settled a proposal."""
        ...

    async def registration(self, tenant: str, name: str) -> Registration | None:
        """A registered action of the tenant."""
        ...

    async def registrations(self, tenant: str) -> list[Registration]:
        """All registered actions of the tenant."""
        ...

    async def register(self, tenant: str, registration: Registration, most: int) -> None:
        """Insert or replace; Exhausted when the tenant has `most` already."""
        ...

    async def due(self, now: datetime, most: int) -> list[tuple[str, Thread]]:
        """Threads whose timer is due, locked, with their tenant; others' are skipped."""
        ...

    async def snoozed(self, now: datetime, most: int) -> list[tuple[str, Thread]]:
        """Threads whose snooze is over, locked, with their tenant; others' are skipped."""
        ...

    async def clear_timer(self, tenant: str, thread_id: str) -> None:
        """The timer of a thread meant nothing."""
        ...

    async def claimed(self, claim_id: str) -> list[Job]:
        """What a claim holds already."""
        ...

    async def candidates(self, kinds: Sequence[JobKind], most: int) -> list[Job]:
        """Queued jobs that are due, locked; others' are skipped."""
        ...

    async def lease(self, job: Job, runner_id: str, claim_id: str) -> Job | None:
        """Lease a queued job."""
        ...

    async def heartbeat(self, job_id: str, fence: int) -> tuple[datetime, bool]:
        """Keep a lease; its new end, and whether to cancel. Conflict LEASE_LOST."""
        ...

    async def find_job(self, job_id: str) -> Job:
        """A job, not locked. NotFound."""
        ...

    async def hold(self, job_id: str, fence: int) -> Job:
        """A job whose lease is the caller's, locked. Conflict LEASE_LOST."""
        ...

    async def mark_started(self, job_id: str, fence: int) -> None:
        """Effects follow."""
        ...

    async def end_job(self, job_id: str, state: str, reason: str | None = None) -> None:
        """End a live job: done, failed, cancelled or parked."""
        ...

    async def requeue(self, job_id: str, delay: timedelta, reason: str) -> None:
        """Give a leased job back."""
        ...

    async def expired(self, most: int) -> list[Job]:
        """Leased jobs whose lease ended, locked; others' are skipped."""
        ...


class Store(Protocol):
    """Where transactions come from."""

    def work(self) -> AbstractAsyncContextManager[Work]:
        """One transaction; leaving it normally commits."""
        ...


@dataclass(frozen=True)
class ThreadFilter:
    """Which threads a list shows; `parent_id` None means roots."""

    tenant: str
    states: tuple[State, ...] = ()
    parent_id: str | None = None
    urgency: str = ""
    hide_later: bool = False
    """Leave out what is snoozed."""
    said: str | None = None
    """Words that it must hold, each at the beginning of one of its own; then all levels are searched."""
    session_id: str = ""
    """Proposed in this session, at any level; empty: in whichever or none."""
    open_at: datetime | None = None
    """Opened then or before, and not ended by then."""


class Reader(Protocol):
    """Reads without locks."""

    async def thread(self, tenant: str, thread_id: str) -> Thread:
        """ThreadNotFound."""
        ...

    async def members(self, tenant: str, roots: Sequence[str]) -> list[Member]:
        """Everybody below these roots, however deep, in no order."""
        ...

    async def waited(self, tenant: str, parent: Thread, most: int) -> tuple[list[Thread], int]:
        """The first open threads below that are no parents of open ones, without items, failed ones first, then in
        spawn order; and how many there are.
        """
        ...

    async def children(self, tenant: str, parent: str, after: tuple[int, str] | None, most: int) -> list[Thread]:
        """In spawn order, behind (ordinal, id)."""
        ...

    async def threads(self, wanted: ThreadFilter, now: datetime, before_id: str | None, most: int) -> list[Thread]:
        """Newest first, ids below `before_id`."""
        ...

    async def inbox(
        self, tenant: str, now: datetime, after: tuple[datetime, str] | None, most: int
    ) -> tuple[list[Thread], int]:
        """Wait states that are not deferred, by rank, and how many there are in all."""
        ...

    async def events(self, tenant: str, thread_id: str, after_seq: int, most: int) -> list[Event]:
        """In order of seq."""
        ...

    async def child_states(self, tenant: str, parents: Sequence[str]) -> dict[str, dict[State, int]]:
        """Children by state, of each parent that has any."""
        ...

    async def timer(self, tenant: str, thread_id: str) -> datetime | None:
        """When the thread's timer is due."""
        ...

    async def registrations(self, tenant: str) -> list[Registration]:
        """All registered actions of the tenant."""
        ...


class Wake(Protocol):
    """Tells others, after a commit, that there is something to do. Never fails: polling is the fallback."""

    async def committed(self, *, jobs: bool) -> None:
        """There are facts to relay, and jobs to claim if `jobs`."""
        ...

    def heard(self) -> int:
        """How often new jobs were told of so far: take it before looking at the queue."""
        ...

    async def wait_for_jobs(self, heard: int, seconds: float) -> None:
        """Returns when there may be jobs newer than `heard`, at once if there are already, or after `seconds`."""
        ...


class SchemaCheck(Protocol):
    """JSON Schema (2020-12), without any access to the network."""

    def check_schema(self, field: str, schema: JsonObject) -> None:
        """Invalid when it is no schema of an object."""
        ...

    def check(self, field: str, schema: JsonObject, parameters: JsonObject) -> None:
        """Invalid INVALID_PARAMETERS, naming the field, when the parameters do not fit."""
        ...
