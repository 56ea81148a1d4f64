"""Columns of a group umbrella: moving items, adding and deleting columns (design/threads.md, sections 0.11, 4.6–4.8).

The umbrella is locked before its columns, so that opposite moves wait for each other and never for ever.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from services.kernel.errors import Conflict
from services.threads.application.commands import Call, Commands
from services.threads.application.family_plans import Brood, ChildPlan
from services.threads.application.holding import Grip
from services.threads.application.ports import Store, Wake, Work
from services.threads.domain import commands as c
from services.threads.domain.deciding_items import CrossUmbrella, NoUmbrella, SameThread, check_room, picked
from services.threads.domain.effects import effects
from services.threads.domain.errors import WrongRelationship
from services.threads.domain.states import is_terminal
from services.threads.domain.thread import ContextItem, Relationship, Thread
from services.threads.domain.timing import Timing

M = TypeVar("M")
N = TypeVar("N", contravariant=True)


@dataclass(frozen=True)
class Moved:
    """What a move did."""

    migration_id: str
    items: tuple[ContextItem, ...]
    to: Thread


@dataclass(frozen=True)
class Deleted:
    """A column that is gone."""

    child_id: str
    umbrella_id: str


class Told(Protocol[N, M]):
    """How a result becomes the answer that is sent, stored and replayed."""

    def write(self, result: N) -> M: ...

    def dump(self, answer: M) -> bytes: ...

    def load(self, stored: bytes) -> M: ...


class Groups:
    """One instance a process."""

    def __init__(self, store: Store, wake: Wake, commands: Commands, timing: Timing) -> None:
        self._store = store
        self._wake = wake
        self._commands = commands
        self._timing = timing

    async def move(self, call: Call, source_id: str, to_id: str, ids: tuple[str, ...], answer: Told[Moved, M]) -> M:
        """All or none, as one operation. Refusals in the order of section 4.6."""
        if source_id == to_id:
            raise SameThread

        async def body(work: Work, grip: Grip) -> Moved:
            umbrella = await self._umbrella_of(work, call.tenant, source_id, to_id)
            first, second = sorted((source_id, to_id))
            locked = {one: await self._whole(work, call.tenant, one) for one in (first, second)}
            source, to = locked[source_id], locked[to_id]
            _check_siblings(umbrella, source, to)
            items = picked(source, ids)
            check_room(to, items)
            migration = self._commands.stamps.new_id("mig")
            given = c.GiveItems(items, migration, to_id, umbrella.thread_id)
            taken = c.TakeItems(items, migration, source_id, umbrella.thread_id)
            if await work.move_items(call.tenant, ids, source_id, to) != len(ids):
                raise Conflict("CONTENDED", "others are moving the same items right now: read and try again")
            await self._commands.decided(work, call, source, given)
            outcome, _ = await self._commands.decided(work, call, to, taken)
            return Moved(migration, items, outcome.thread)

        return await self._run(call, source_id, 0, body, answer)

    async def add_column(self, call: Call, umbrella_id: str, label: str, answer: Told[Thread, M]) -> M:
        """An empty column at the end of an open group."""
        brood = Brood((ChildPlan(label),), user_created=True)

        async def body(work: Work, grip: Grip) -> Thread:
            umbrella = await work.lock(call.tenant, umbrella_id)
            _require_group(umbrella)
            made = await self._commands.spawning.under(work, call.tenant, call.actor, umbrella, brood)
            caused = effects(made.events, made.parent, self._timing)
            await work.write(call.tenant, made.parent, made.events, caused)
            await work.write_many(call.tenant, made.children)
            return made.children[0].after

        return await self._run(call, umbrella_id, 0, body, answer)

    async def delete_column(self, call: Call, child_id: str, answer: Told[Deleted, M]) -> M:
        """Dismiss a column unless it has ended; its items stay its own, and the umbrella's log lists them. Again is
        nothing.
        """

        async def body(work: Work, grip: Grip) -> Deleted:
            held = await self._commands.holding.hold(work, call.tenant, child_id, grip)
            if not held.above:
                raise NoUmbrella(child_id)
            *higher, umbrella = held.above
            _require_group(umbrella)
            if not await work.deleted(call.tenant, umbrella.thread_id, child_id):
                items = await work.items(call.tenant, child_id)
                gone = c.DeleteColumn(child_id, tuple(item.id for item in items))
                outcome, _ = await self._commands.decided(work, replace(call, etag=None), umbrella, gone)
                if not is_terminal(held.thread.state):
                    dismissed = c.Dismiss(reason="user_deleted_group")
                    await self._commands.decided(work, call, held.thread, dismissed, [*higher, outcome.thread])
            return Deleted(child_id, umbrella.thread_id)

        return await self._run(call, child_id, 1, body, answer)

    async def _umbrella_of(self, work: Work, tenant: str, source_id: str, to_id: str) -> Thread:
        """The locked umbrella of two columns. Parents never change, so that they may be read before the lock."""
        source, to = await work.read(tenant, source_id), await work.read(tenant, to_id)
        self._commands.holding.lanes.learn_of(source)
        for one in (source, to):
            if one.parent_id is None:
                raise NoUmbrella(one.thread_id)
        if source.parent_id is None or source.parent_id != to.parent_id:
            raise CrossUmbrella
        umbrella = await work.lock(tenant, source.parent_id)
        _require_group(umbrella)
        return umbrella

    async def _whole(self, work: Work, tenant: str, thread_id: str) -> Thread:
        thread = await work.lock(tenant, thread_id)
        return replace(thread, context_items=await work.items(tenant, thread_id))

    async def _run(
        self, call: Call, key: str, reach: int, body: Callable[[Work, Grip], Awaitable[N]], answer: Told[N, M]
    ) -> M:
        async def attempt(grip: Grip) -> M:
            async with self._store.work() as work:
                stored = await work.remember(call.key, call.digest)
                if stored is not None:
                    return answer.load(stored)
                made = answer.write(await body(work, grip))
                await work.store(call.key, answer.dump(made))
            await self._wake.committed(jobs=True)
            return made

        return await self._commands.holding.attempt(key, reach, attempt)


def _require_group(umbrella: Thread) -> None:
    if umbrella.parent_relationship is not Relationship.GROUP:
        raise WrongRelationship(umbrella.parent_relationship)


def _check_siblings(umbrella: Thread, source: Thread, to: Thread) -> None:
    """One umbrella and one run: both are checked (section 0.11)."""
    runs = {one.originating_scrape_id for one in (umbrella, source, to)}
    if len(runs) != 1 or source.parent_id != umbrella.thread_id or to.parent_id != umbrella.thread_id:
        raise CrossUmbrella
