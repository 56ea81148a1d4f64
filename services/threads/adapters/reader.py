"""Reads on Postgres, one statement each, without locks: the port `Reader`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import orjson

from services.kernel.postgres import Database
from services.threads.adapters import family_reads, inbox, items, tables
from services.threads.adapters.listing import rows_of
from services.threads.adapters.log import event_of
from services.threads.application.ports import ThreadFilter
from services.threads.domain.events import Event
from services.threads.domain.hoisting import Member
from services.threads.domain.registration import Registration, registration_from
from services.threads.domain.states import State
from services.threads.domain.thread import Thread


class PostgresReader:
    """See application.ports.Reader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def thread(self, tenant: str, thread_id: str) -> Thread:
        """By id."""
        async with self._database.connection() as tx:
            return await family_reads.sound_thread(tx, tenant, thread_id)

    async def members(self, tenant: str, roots: Sequence[str]) -> list[Member]:
        """One statement."""
        async with self._database.connection() as tx:
            return await family_reads.members(tx, tenant, roots)

    async def waited(self, tenant: str, parent: Thread, most: int) -> tuple[list[Thread], int]:
        """One statement."""
        async with self._database.connection() as tx:
            return await family_reads.waited(tx, tenant, parent, most)

    async def children(self, tenant: str, parent: str, after: tuple[int, str] | None, most: int) -> list[Thread]:
        """One statement."""
        async with self._database.connection() as tx:
            return await family_reads.children(tx, tenant, parent, after, most)

    async def threads(self, wanted: ThreadFilter, now: datetime, before_id: str | None, most: int) -> list[Thread]:
        """By descending id."""
        async with self._database.connection() as tx:
            rows = await rows_of(tx, wanted, now, before_id, most)
        return [items.thread_of(row) for row in rows]

    async def inbox(
        self, tenant: str, now: datetime, after: tuple[datetime, str] | None, most: int
    ) -> tuple[list[Thread], int]:
        """A page and the size of the whole, over one snapshot."""
        time, last = after or (None, None)
        async with self._database.transaction(read_snapshot=True) as tx:
            rows = await tx.fetch(inbox.INBOX, of_tenant=tenant, now=now, after_time=time, after_id=last, most=most)
            total = await tx.fetchval(inbox.INBOX_SIZE, of_tenant=tenant, now=now)
        return [items.thread_of(row) for row in rows], total

    async def events(self, tenant: str, thread_id: str, after_seq: int, most: int) -> list[Event]:
        """In order of seq."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(tables.LOG, of_tenant=tenant, of_id=thread_id, after=after_seq, most=most)
        return [event_of(row) for row in rows]

    async def child_states(self, tenant: str, parents: Sequence[str]) -> dict[str, dict[State, int]]:
        """One statement for all parents."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(tables.CHILD_STATES, of_tenant=tenant, parents=list(parents))
        states: dict[str, dict[State, int]] = {}
        for row in rows:
            states.setdefault(row["parent_id"], {})[State(row["state"])] = row["threads"]
        return states

    async def timer(self, tenant: str, thread_id: str) -> datetime | None:
        """The row's timer."""
        async with self._database.connection() as tx:
            due: datetime | None = await tx.fetchval(tables.TIMER, of_tenant=tenant, of_id=thread_id)
        return due

    async def registrations(self, tenant: str) -> list[Registration]:
        """All actions."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(tables.ACTIONS_OF, of_tenant=tenant)
        return [registration_from(orjson.loads(row["doc"])) for row in rows]
