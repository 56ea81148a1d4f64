"""The part of the port `Work` that is about families: chains, levels, and writes of many threads at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from services.kernel import jobs, outbox
from services.kernel.ids import NewId
from services.kernel.postgres import Tx
from services.threads.adapters import family_tables as family
from services.threads.adapters import items, rows, search, thread_doc
from services.threads.adapters.log import event_row, fact_of
from services.threads.adapters.tables import EVENTS, THREADS
from services.threads.application.ports import Ancestor, Change
from services.threads.domain import effects as e
from services.threads.domain.errors import ThreadNotFound
from services.threads.domain.thread import Thread

_PAGE: Final = 250
"""Threads of one set of statements: between them the loop serves others."""
_THREAD_COLUMNS: Final = [column.name for column in THREADS.columns if column.computed is None]
_EVENT_COLUMNS: Final = [column.name for column in EVENTS.columns]


class FamilyWork:
    """See application.ports.Work."""

    def __init__(self, tx: Tx, new_id: NewId) -> None:
        self._tx = tx
        self._new_id = new_id
        self.written: list[Change] = []

    async def lock_root(self, tenant: str, thread_id: str) -> Thread | None:
        """Waits for the row if it is a root's."""
        doc = await self._tx.fetchval(family.LOCK_ROOT, of_tenant=tenant, of_id=thread_id)
        return None if doc is None else thread_doc.load(doc)

    async def lineage(self, tenant: str, thread_id: str) -> list[Ancestor]:
        """One statement."""
        found = await self._tx.fetch(family.LINEAGE, of_tenant=tenant, of_id=thread_id)
        if not found:
            raise ThreadNotFound(thread_id)
        return [Ancestor(row["id"], row["open_children"], row["ends_early"]) for row in found]

    async def lock_chain(self, tenant: str, ids: Sequence[str]) -> list[Thread]:
        """Waits for each row, at most the lock timeout."""
        found = await self._tx.fetch(family.LOCK_CHAIN, of_tenant=tenant, ids=list(ids))
        return [thread_doc.load(row["doc"]) for row in found]

    async def try_lock_chain(self, tenant: str, ids: Sequence[str]) -> list[Thread]:
        """Does not wait."""
        found = await self._tx.fetch(family.TRY_LOCK_CHAIN, of_tenant=tenant, ids=list(ids))
        return [thread_doc.load(row["doc"]) for row in found]

    async def lock_open_children(self, tenant: str, parents: Sequence[str]) -> list[Thread]:
        """Waits for each row, at most the lock timeout."""
        found = await self._tx.fetch(family.LOCK_OPEN_CHILDREN, of_tenant=tenant, parents=list(parents))
        return [thread_doc.load(row["doc"]) for row in found]

    async def has_open_child(self, tenant: str, thread_id: str) -> bool:
        """By the index of live children."""
        found: bool = await self._tx.fetchval(family.HAS_OPEN_CHILD, of_tenant=tenant, of_id=thread_id)
        return found

    async def met_above(self, tenant: str, path: Sequence[str]) -> bool:
        """By their keys."""
        met: bool = await self._tx.fetchval(family.MET_ABOVE, of_tenant=tenant, ids=list(path))
        return met

    async def write_many(self, tenant: str, changes: Sequence[Change]) -> None:
        """A page at a time: rows, log, jobs, outbox."""
        self.written += changes
        for start in range(0, len(changes), _PAGE):
            page = changes[start : start + _PAGE]
            await self._insert_many(tenant, [change for change in page if change.events[0].seq == 1])
            await self._update_many(tenant, [change for change in page if change.events[0].seq > 1])
            written = [(change.after, event) for change in page for event in change.events]
            await self._copy(
                "thread_events", _EVENT_COLUMNS, [event_row(tenant, after.thread_id, event) for after, event in written]
            )
            await self._cause_many(tenant, page)
            await outbox.enqueue_many(self._tx, [fact_of(tenant, after, event) for after, event in written])

    async def _insert_many(self, tenant: str, changes: Sequence[Change]) -> None:
        made = [rows.thread_row(tenant, change.after, rows.timer_of(change.effects)) for change in changes]
        await self._copy("threads", _THREAD_COLUMNS, made)
        new = [change.after for change in changes]
        await items.add_items(self._tx, tenant, new)
        await search.note_words(self._tx, tenant, new)

    async def _update_many(self, tenant: str, changes: Sequence[Change]) -> None:
        if not changes:
            return
        values = [
            {
                **rows.changing(change.after),
                "id": change.after.thread_id,
                "timer_at": rows.timer_of(change.effects),
                "keeps_timer": not rows.sets_timer(change.effects),
            }
            for change in changes
        ]
        columns = {f"all_{name}": [row[name] for row in values] for name in family.MANY}
        await self._tx.execute(family.UPDATE_MANY, of_tenant=tenant, **columns)

    async def _cause_many(self, tenant: str, changes: Sequence[Change]) -> None:
        unwanted = [one.after.thread_id for one in changes if any(isinstance(it, e.CancelJobs) for it in one.effects)]
        if unwanted:
            await jobs.cancel_many(self._tx, tenant, unwanted, "the family closed")
        wanted = [
            {"id": self._new_id("job"), "kind": job[0], "subject": change.after.thread_id, "payload": job[1]}
            for change in changes
            for effect in change.effects
            if (job := rows.job_of(effect)) is not None
        ]
        if wanted:
            await jobs.enqueue_many(self._tx, tenant, wanted)

    async def _copy(self, table: str, columns: list[str], values: Sequence[dict[str, Any]]) -> None:
        if values:
            records = [tuple(row[name] for name in columns) for row in values]
            await self._tx.raw.copy_records_to_table(table, records=records, columns=columns)
