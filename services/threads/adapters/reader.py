"""Reads on Postgres, one statement each, without locks: the port `Reader`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import orjson

from services.kernel.postgres import Database
from services.threads.adapters import tables, thread_doc
from services.threads.adapters.log import event_of
from services.threads.application.ports import ThreadFilter
from services.threads.domain.errors import ThreadNotFound
from services.threads.domain.events import Event
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
            doc = await tx.fetchval(tables.FIND, of_tenant=tenant, of_id=thread_id)
        if doc is None:
            raise ThreadNotFound(thread_id)
        return thread_doc.load(doc)

    async def threads(self, wanted: ThreadFilter, before_id: str | None, most: int) -> list[Thread]:
        """Roots or children; ids rise with birth, so that newest first is descending id."""
        bounds = {"of_tenant": wanted.tenant, "states": list(wanted.states), "before": before_id, "most": most}
        async with self._database.connection() as tx:
            if wanted.parent_id is None:
                rows = await tx.fetch(tables.ROOTS, **bounds)
            else:
                rows = await tx.fetch(tables.CHILDREN, **bounds, parent=wanted.parent_id)
        return [thread_doc.load(row["doc"]) for row in rows]

    async def inbox(
        self, tenant: str, now: datetime, after: tuple[datetime, str] | None, most: int
    ) -> tuple[list[Thread], int]:
        """A page and the size of the whole, over one snapshot."""
        time, last = after or (None, None)
        async with self._database.transaction(read_snapshot=True) as tx:
            rows = await tx.fetch(tables.INBOX, of_tenant=tenant, now=now, after_time=time, after_id=last, most=most)
            total = await tx.fetchval(tables.INBOX_SIZE, of_tenant=tenant, now=now)
        return [thread_doc.load(row["doc"]) for row in rows], total

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
