"""Families as commands: an umbrella with its children, or children for a thread that exists (sections 0.2, 0.4, 4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from services.kernel.errors import Invalid
from services.kernel.ids import NewId
from services.threads.application.commands import Call, Commands
from services.threads.application.family_plans import Brood, FamilyPlan, with_family_items
from services.threads.application.holding import Grip, Held
from services.threads.application.ports import Store, Wake, Work
from services.threads.application.spawning import Spawned
from services.threads.domain import commands as c
from services.threads.domain.decide import decide_and_evolve
from services.threads.domain.deciding_family import refuse_spawn
from services.threads.domain.effects import effects
from services.threads.domain.errors import PolicyMet, TooDeep, WrongRelationship
from services.threads.domain.limits import DEPTH_MAX
from services.threads.domain.narrowing import refuse_widening
from services.threads.domain.policy_json import policy_from
from services.threads.domain.states import is_terminal
from services.threads.domain.thread import Relationship, Thread
from services.threads.domain.timing import Timing

M = TypeVar("M")
_Spawn = Callable[[Work, Grip], Awaitable["Family"]]


@dataclass(frozen=True)
class Family:
    """A parent as its spawn left it, with the children that the spawn made."""

    parent: Thread
    children: Sequence[Thread]


class FamilyAnswer(Protocol[M]):
    """How a family becomes the answer that is sent, stored and replayed."""

    def write(self, family: Family) -> M:
        """The answer."""
        ...

    def dump(self, answer: M) -> bytes:
        """As stored, at most 64 KiB."""
        ...

    def load(self, stored: bytes) -> M:
        """Out of `dump`."""
        ...


class Families:
    """One instance a process."""

    def __init__(self, store: Store, wake: Wake, commands: Commands, timing: Timing) -> None:
        self._store = store
        self._wake = wake
        self._commands = commands
        self._timing = timing

    async def create(self, call: Call, plan: FamilyPlan, answer: FamilyAnswer[M]) -> M:
        """An umbrella and all its children in one transaction; it lands in monitoring."""
        plan = with_family_items(plan)

        async def spawn(work: Work, grip: Grip) -> Family:
            if plan.parent_id is None:
                return await self._umbrella(work, call, None, plan)
            held = await self._commands.holding.hold(work, call.tenant, plan.parent_id, grip)
            return await self._umbrella(work, call, held, plan)

        return await self._run(call, plan.parent_id or "", spawn, answer)

    async def spawn(self, call: Call, thread_id: str, brood: Brood, answer: FamilyAnswer[M]) -> M:
        """Children for an open thread, which then waits for them."""

        async def spawn(work: Work, grip: Grip) -> Family:
            held = await self._commands.holding.hold(work, call.tenant, thread_id, grip)
            made = await self._commands.spawning.under(
                work,
                call.tenant,
                call.actor,
                held.thread,
                _fitting(held.thread, brood, self._commands.stamps.new_id),
                call.etag,
            )
            await self._write(work, call.tenant, made)
            await self._closed(work, call.tenant, made.parent, held.above)
            return Family(made.parent, [child.after for child in made.children])

        return await self._run(call, thread_id, spawn, answer)

    async def _umbrella(self, work: Work, call: Call, held: Held | None, plan: FamilyPlan) -> Family:
        parent = None if held is None else held.thread
        command = self._command(plan, parent)
        if held is not None:
            parent = await self._with_umbrella(work, call, held.thread, command.thread_id)
        events, umbrella = decide_and_evolve(None, command, self._commands.stamps.stamp(call.actor))
        made = await self._commands.spawning.under(work, call.tenant, call.actor, umbrella, plan.brood)
        await self._write(work, call.tenant, replace(made, events=(*events, *made.events)))
        if held is not None and parent is not None:
            await self._closed(work, call.tenant, made.parent, [*held.above, parent])
        return Family(made.parent, [child.after for child in made.children])

    def _command(self, plan: FamilyPlan, parent: Thread | None) -> c.CreateThread:
        base = None if parent is None else parent.autonomy
        policy = policy_from(plan.autonomy, base=base)
        if parent is not None:
            refuse_widening(parent.autonomy, policy)
        brood = plan.brood
        return c.CreateThread(
            thread_id=self._commands.stamps.new_id("thr"),
            title=plan.title,
            description=plan.description,
            context_items=plan.context_items,
            autonomy=policy,
            source=brood.relationship or Relationship.DECOMPOSE,
            parent_id=None if parent is None else parent.thread_id,
            path=() if parent is None else (*parent.path, parent.thread_id),
            ordinal=0 if parent is None else parent.children,
            parent_relationship=brood.relationship or Relationship.DECOMPOSE,
            originating_scrape_id=brood.originating_scrape_id,
            begin=False,
        )

    async def _with_umbrella(self, work: Work, call: Call, parent: Thread, umbrella_id: str) -> Thread:
        """The parent of a nested umbrella gets one more child."""
        refuse_spawn(parent)
        if len(parent.path) + 1 >= DEPTH_MAX:
            raise TooDeep(DEPTH_MAX)
        if parent.path and await work.met_above(call.tenant, parent.path):
            raise PolicyMet(parent.state)
        command = c.SpawnChildren((umbrella_id,))
        events, after = decide_and_evolve(parent, command, self._commands.stamps.stamp(call.actor))
        await work.write(call.tenant, after, events, effects(events, after, self._timing))
        return after

    async def _write(self, work: Work, tenant: str, made: Spawned) -> None:
        await work.write(tenant, made.parent, made.events, effects(made.events, made.parent, self._timing))
        await work.write_many(tenant, made.children)

    async def _closed(self, work: Work, tenant: str, parent: Thread, above: Sequence[Thread]) -> None:
        if is_terminal(parent.state):
            await self._commands.cascade.upward(work, tenant, parent, above)

    async def _run(self, call: Call, key: str, spawn: _Spawn, answer: FamilyAnswer[M]) -> M:
        async def attempt(grip: Grip) -> M:
            async with self._store.work() as work:
                stored = await work.remember(call.key, call.digest)
                if stored is not None:
                    return answer.load(stored)
                family = await spawn(work, grip)
                made = answer.write(family)
                await work.store(call.key, answer.dump(made))
            self._commands.holding.lanes.learn_of(family.parent)
            await self._wake.committed(jobs=True)
            return made

        return await self._commands.holding.attempt(key, 0, attempt)


def _fitting(thread: Thread, brood: Brood, new_id: NewId) -> Brood:
    """A family stays what it is: children of another kind are refused, and a run's id is stamped once."""
    if brood.relationship not in (None, thread.parent_relationship) and thread.children:
        raise WrongRelationship(thread.parent_relationship)
    standing = thread.originating_scrape_id
    if brood.relationship is not Relationship.GROUP:
        return brood
    if standing is None:
        return replace(brood, originating_scrape_id=brood.originating_scrape_id or new_id("scr"))
    if brood.originating_scrape_id not in (None, standing):
        raise Invalid("INVALID_FIELD", "the thread comes from another run", field="originating_scrape_id")
    return replace(brood, originating_scrape_id=None)
