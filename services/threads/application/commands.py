"""Commands on threads: remember, lock, load, decide, write, in one transaction (design/threads.md,
section 0.1).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from services.kernel.clock import Clock
from services.kernel.idempotency import Key
from services.kernel.ids import NewId
from services.threads.application.cascading import POLICY_MET, Cascade
from services.threads.application.catalogue import Catalogue
from services.threads.application.family_plans import ChildPlan, breaks_down, brood_of
from services.threads.application.foreseeing import Foreseen, foreseen
from services.threads.application.holding import Grip, Holding
from services.threads.application.lanes import Lanes
from services.threads.application.ports import Change, SchemaCheck, Store, Wake, Work
from services.threads.application.spawning import Spawning, spawn_of
from services.threads.application.stamping import Stamps
from services.threads.domain import commands as c
from services.threads.domain.decide import decide_and_evolve
from services.threads.domain.effects import Effect, EnqueueCleanup, EnqueueExecution, EnqueueInference, effects
from services.threads.domain.errors import AlreadyDecided, ProposalChanged, StaleEtag
from services.threads.domain.events import FSM, Actor, Event
from services.threads.domain.registration import Registration
from services.threads.domain.states import TERMINAL, State, is_terminal
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
    mark: str | None = None
    """Of a preview: the call is to have exactly the effects that were foreseen."""


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
        self._schemas = schemas
        self._timing = timing
        self.stamps = Stamps(clock, new_id)
        self.holding = Holding(Lanes())
        self.cascade = Cascade(self.stamps, timing)
        self.spawning = Spawning(self.stamps, schemas, self.cascade, timing)

    async def create(self, call: Call, command: c.CreateThread, start: ChildPlan, answer: Answer[M]) -> M:
        """A new thread, begun where `start` says. Repeats of the request answer the same."""
        async with self._store.work() as work:
            stored = await work.remember(call.key, call.digest)
            if stored is not None:
                return answer.load(stored)
            spawn = await spawn_of(Catalogue(work, call.tenant, self._schemas), start)
            outcome, caused = await self.decided(work, call, None, replace(command, spawn=spawn))
            made = answer.write(outcome)
            await work.store(call.key, answer.dump(made))
        await self._wake.committed(jobs=has_jobs(caused))
        return made

    async def change(self, call: Call, thread_id: str, make: Make, answer: Answer[M], *, reach: int = 0) -> M:
        """A decision on a thread. Whoever is second is told who was first. `reach` 1: it is likely to end the thread,
        so that its parent is locked at once (a wrong guess costs a second attempt, nothing else).
        """

        async def attempt(grip: Grip) -> M:
            async with self._store.work() as work:
                stored = await work.remember(call.key, call.digest)
                if stored is not None:
                    return answer.load(stored)
                held = await self.holding.hold(work, call.tenant, thread_id, grip)
                command = await make(held.thread, Catalogue(work, call.tenant, self._schemas))
                outcome, caused = await self.decided(work, call, held.thread, command, held.above)
                if call.mark is not None and foreseen(work.written).mark != call.mark:
                    raise StaleEtag(held.thread.etag, held.thread.state, held.thread.decided)
                made = answer.write(outcome)
                await work.store(call.key, answer.dump(made))
            await self._wake.committed(jobs=has_jobs(caused))
            return made

        return await self.holding.attempt(thread_id, reach, attempt)

    async def preview(self, call: Call, thread_id: str, make: Make) -> tuple[Foreseen, str]:
        """What a decision would do, and the thread's etag: the decision itself is run and undone, with every refusal
        that it would meet.
        """

        async def attempt(grip: Grip) -> tuple[Foreseen, str]:
            try:
                async with self._store.work() as work:
                    held = await self.holding.hold(work, call.tenant, thread_id, grip)
                    command = await make(held.thread, Catalogue(work, call.tenant, self._schemas))
                    await self.decided(work, call, held.thread, command, held.above)
                    raise _Undo(foreseen(work.written), held.thread.etag)
            except _Undo as undone:
                return undone.told, undone.etag

        return await self.holding.attempt(thread_id, 0, attempt)

    async def register(self, call: Call, registration: Registration) -> Registration:
        """A new or replaced action."""
        async with self._store.work() as work:
            stored = await work.remember(call.key, call.digest)
            if stored is None:
                await Catalogue(work, call.tenant, self._schemas).register(registration)
                await work.store(call.key, b"registered")
        return registration

    async def decided(
        self,
        work: Work,
        call: Call,
        thread: Thread | None,
        command: c.Command,
        above: Sequence[Thread] = (),
    ) -> tuple[Outcome, tuple[Effect, ...]]:
        """Decide and write inside a transaction that is open already, with all that follows in the family.

        `above`: the ancestors that are locked too, root side first. HigherNeeded when the thread ends and they are too
        few: run it by `holding.attempt`.
        """
        try:
            events, after = decide_and_evolve(thread, command, self.stamps.stamp(call.actor, call.etag))
        except ProposalChanged as lost:
            assert thread is not None
            winner = await work.settled(call.tenant, thread.thread_id, lost.cited)
            raise lost if winner is None else AlreadyDecided(lost.state, winner) from lost
        spawned: tuple[Change, ...] = ()
        if thread is not None:
            events, after = await self._with_family(work, call, thread, command, events, after)
            if breaks_down(thread, after):
                made = await self.spawning.under(work, call.tenant, call.actor, after, brood_of(after))
                events, after, spawned = (*events, *made.events), made.parent, made.children
        caused = effects(events, after, self._timing)
        if events:
            await work.write(call.tenant, after, events, caused)
        if spawned:
            await work.write_many(call.tenant, spawned)
            caused = (*caused, *(effect for child in spawned for effect in child.effects))
        if thread is not None and is_terminal(after.state) and not is_terminal(thread.state):
            await self.cascade.upward(work, call.tenant, after, above)
        return Outcome(thread, after, events), caused

    async def _with_family(
        self, work: Work, call: Call, thread: Thread, command: c.Command, events: tuple[Event, ...], after: Thread
    ) -> tuple[tuple[Event, ...], Thread]:
        """What else the command writes on its own thread: an umbrella that ends closes what is below it first; what
        stopped executing ends where the family has what it needs.
        """
        if thread.open_children and is_terminal(after.state):
            return await self.cascade.closing(work, call.tenant, thread, command, self.stamps.stamp(call.actor))
        stopped = thread.state is State.EXECUTING and after.state not in (*TERMINAL, State.EXECUTING)
        if stopped and thread.path and await work.met_above(call.tenant, thread.path):
            more, after = decide_and_evolve(after, c.ForceClose(POLICY_MET), self.stamps.stamp(FSM))
            events = (*events, *more)
        return events, after


class _Undo(Exception):
    """Gives a transaction up after it has told what it would do."""

    def __init__(self, told: Foreseen, etag: str) -> None:
        super().__init__(etag)
        self.told = told
        self.etag = etag


def has_jobs(caused: tuple[Effect, ...]) -> bool:
    """Whether a runner has something new to do."""
    return any(isinstance(effect, EnqueueInference | EnqueueExecution | EnqueueCleanup) for effect in caused)
