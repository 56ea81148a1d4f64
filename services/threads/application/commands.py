"""Commands on threads: remember, lock, load, decide, write, in one transaction (design/threads.md,
section 0.1).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from services.kernel.clock import Clock
from services.kernel.idempotency import Key
from services.kernel.ids import NewId
from services.threads.application.catalogue import Catalogue
from services.threads.application.ports import SchemaCheck, Store, Wake, Work
from services.threads.domain import commands as c
from services.threads.domain.decide import decide_and_evolve
from services.threads.domain.effects import Effect, EnqueueExecution, EnqueueInference, effects
from services.threads.domain.errors import AlreadyDecided, ProposalChanged
from services.threads.domain.events import Actor, Event
from services.threads.domain.registration import Registration
from services.threads.domain.states import State
from services.threads.domain.thread import Thread
from services.threads.domain.timing import Timing

M = TypeVar("M")


@dataclass(frozen=True)
class Call:
    """Who asks: the verified caller, its idempotency key with the body's digest, and the etag it cites."""

    tenant: str
    actor: Actor
    key: Key | None = None
    digest: bytes = b""
    etag: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What a command did: the thread before and after, and its new events."""

    before: Thread | None
    thread: Thread
    events: tuple[Event, ...]

    @property
    def prev_state(self) -> State:
        """The state before; a new thread comes from proposed."""
        return self.before.state if self.before else State.PROPOSED


class Answer(Protocol[M]):
    """How an outcome becomes the answer that is sent, stored and replayed."""

    def write(self, outcome: Outcome) -> M:
        """The answer of an outcome."""
        ...

    def dump(self, answer: M) -> bytes:
        """As stored, at most 64 KiB."""
        ...

    def load(self, stored: bytes) -> M:
        """Out of `dump`."""
        ...


Make = Callable[[Thread, Catalogue], Awaitable[c.Command]]
"""Makes the command, under the thread's lock."""


class Commands:
    """The write side. One instance a process."""

    def __init__(
        self, store: Store, wake: Wake, clock: Clock, new_id: NewId, schemas: SchemaCheck, timing: Timing
    ) -> None:
        self._store = store
        self._wake = wake
        self._clock = clock
        self._new_id = new_id
        self._schemas = schemas
        self._timing = timing

    async def create(self, call: Call, command: c.CreateThread, answer: Answer[M]) -> M:
        """A new thread. Repeats of the request answer the same."""
        async with self._store.work() as work:
            stored = await work.remember(call.key, call.digest)
            if stored is not None:
                return answer.load(stored)
            outcome, caused = await self.decided(work, call, None, command)
            made = answer.write(outcome)
            await work.store(call.key, answer.dump(made))
        await self._wake.committed(jobs=has_jobs(caused))
        return made

    async def change(self, call: Call, thread_id: str, make: Make, answer: Answer[M]) -> M:
        """A decision on a thread. Whoever is second is told who was first."""
        async with self._store.work() as work:
            stored = await work.remember(call.key, call.digest)
            if stored is not None:
                return answer.load(stored)
            thread = await work.lock(call.tenant, thread_id)
            command = await make(thread, Catalogue(work, call.tenant, self._schemas))
            outcome, caused = await self.decided(work, call, thread, command)
            made = answer.write(outcome)
            await work.store(call.key, answer.dump(made))
        await self._wake.committed(jobs=has_jobs(caused))
        return made

    async def register(self, call: Call, registration: Registration) -> Registration:
        """A new or replaced action."""
        async with self._store.work() as work:
            stored = await work.remember(call.key, call.digest)
            if stored is None:
                await Catalogue(work, call.tenant, self._schemas).register(registration)
                await work.store(call.key, b"registered")
        return registration

    async def decided(
        self, work: Work, call: Call, thread: Thread | None, command: c.Command
    ) -> tuple[Outcome, tuple[Effect, ...]]:
        """Decide and write inside a transaction that is open already."""
        try:
            events, after = decide_and_evolve(thread, command, self.stamp(call))
        except ProposalChanged as lost:
            assert thread is not None
            winner = await work.settled(call.tenant, thread.thread_id, lost.cited)
            raise lost if winner is None else AlreadyDecided(lost.state, winner) from lost
        caused = effects(events, after, self._timing)
        if events:
            await work.write(call.tenant, after, events, caused)
        return Outcome(thread, after, events), caused

    def stamp(self, call: Call) -> c.Stamp:
        """Time and fresh ids for one decide."""
        return c.Stamp(
            actor=call.actor,
            now=self._clock.now(),
            proposal_id=self._new_id("prp"),
            etag=call.etag,
            new_event_id=lambda: self._new_id("evt"),
        )


def has_jobs(caused: tuple[Effect, ...]) -> bool:
    """Whether a runner has something new to do."""
    return any(isinstance(effect, EnqueueInference | EnqueueExecution) for effect in caused)
