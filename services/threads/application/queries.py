"""Reads: cards, lists, the inbox, the log, and what a thread waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from services.kernel.clock import Clock
from services.threads.application.catalogue import offered
from services.threads.application.ports import Reader, ThreadFilter
from services.threads.domain.events import Event
from services.threads.domain.explaining_family import FamilyExplanation, explain_family
from services.threads.domain.hoisting import Hoisted, by_parent, hoist, hoists_from
from services.threads.domain.registration import Registration
from services.threads.domain.states import State
from services.threads.domain.thread import Thread

_WAITED_MOST: Final = 50


@dataclass(frozen=True)
class Card:
    """A thread as it is shown, with its children by state."""

    thread: Thread
    child_states: dict[State, int]
    hoisted: Sequence[Hoisted] = ()


class Queries:
    """The read side. One instance a process."""

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock

    async def card(self, tenant: str, thread_id: str) -> Card:
        """One card. ThreadNotFound."""
        thread = await self._reader.thread(tenant, thread_id)
        (card,) = await self._cards(tenant, [thread])
        return card

    async def children(
        self, tenant: str, parent_id: str, after: tuple[int, str] | None, size: int
    ) -> tuple[list[Card], bool]:
        """Direct children in spawn order. ThreadNotFound."""
        await self._reader.thread(tenant, parent_id)
        rows = await self._reader.children(tenant, parent_id, after, size + 1)
        return await self._cards(tenant, rows[:size]), len(rows) > size

    async def threads(self, wanted: ThreadFilter, before_id: str | None, size: int) -> tuple[list[Card], bool]:
        """Newest first."""
        rows = await self._reader.threads(wanted, self._clock.now(), before_id, size + 1)
        return await self._cards(wanted.tenant, rows[:size]), len(rows) > size

    async def inbox(self, tenant: str, after: tuple[datetime, str] | None, size: int) -> tuple[list[Card], bool, int]:
        """What waits for a person, by rank, and how many wait in all."""
        rows, total = await self._reader.inbox(tenant, self._clock.now(), after, size + 1)
        return await self._cards(tenant, rows[:size]), len(rows) > size, total

    async def events(self, tenant: str, thread_id: str, after_seq: int, size: int) -> tuple[list[Event], bool]:
        """The log in order. ThreadNotFound."""
        await self._reader.thread(tenant, thread_id)
        rows = await self._reader.events(tenant, thread_id, after_seq, size + 1)
        return rows[:size], len(rows) > size

    async def explain(self, tenant: str, thread_id: str) -> tuple[FamilyExplanation, datetime | None]:
        """What the thread waits for, in the end, and its timer. ThreadNotFound."""
        thread = await self._reader.thread(tenant, thread_id)
        waited, count = await self._reader.waited(tenant, thread, _WAITED_MOST) if thread.open_children else ([], 0)
        return explain_family(thread, waited, count), await self._reader.timer(tenant, thread_id)

    async def actions(self, tenant: str) -> list[Registration]:
        """The catalogue by category and name."""
        return offered(await self._reader.registrations(tenant))

    async def _cards(self, tenant: str, threads: Sequence[Thread]) -> list[Card]:
        hoists = [thread for thread in threads if hoists_from(thread)]
        roots = sorted({thread.root_id for thread in hoists})
        families = by_parent(await self._reader.members(tenant, roots)) if roots else {}
        shown = {thread.thread_id: hoist(thread.thread_id, families) for thread in hoists}
        others = [thread.thread_id for thread in threads if thread.children and thread.thread_id not in shown]
        states = await self._reader.child_states(tenant, others) if others else {}
        for parent in shown:
            states[parent] = Counter(member.state for member in families.get(parent, ()))
        return [Card(thread, states.get(thread.thread_id, {}), shown.get(thread.thread_id, ())) for thread in threads]
