"""Context items as rows: one owner each (design/threads.md, section 0.11). Reads bring them with their thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson
from sqlalchemy import Column, Integer, Table, Text, any_, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import ARRAY, JSON, aggregate_order_by

from services.kernel.postgres import Row, Tx, compiled
from services.threads.adapters import thread_doc
from services.threads.adapters.tables import THREADS
from services.threads.domain.created import item_from
from services.threads.domain.thread import ContextItem, Thread

ITEMS: Final = Table(
    "thread_items",
    THREADS.metadata,
    Column("tenant", Text, primary_key=True),
    Column("thread_id", Text, primary_key=True),
    Column("item_id", Text, primary_key=True),
    Column("position", Integer),
    Column("source", Text),
    Column("type", Text),
    Column("label", Text),
    Column("payload", JSON),
)
_i, _t = ITEMS.c, THREADS.c
_COLUMNS: Final = [column.name for column in ITEMS.columns]
_AS_JSON = func.json_build_object(
    "id", _i.item_id, "source", _i.source, "type", _i.type, "label", _i.label, "payload", _i.payload
)
_LISTED = func.json_agg(aggregate_order_by(_AS_JSON, _i.position, _i.item_id))
WITH_ITEMS = (
    select(_LISTED)
    .where(_i.tenant == _t.tenant, _i.thread_id == _t.id)
    .scalar_subquery()
    .correlate(THREADS)
    .label("items")
)
"""A column beside `doc`: one statement, so one snapshot. Not for a statement that waits for a lock, whose other tables
are as they were before the wait."""
FIND = compiled(select(_t.doc, WITH_ITEMS).where(_t.tenant == bindparam("of_tenant"), _t.id == bindparam("of_id")))
_OF = compiled(select(_LISTED).where(_i.tenant == bindparam("of_tenant"), _i.thread_id == bindparam("of_thread")))
_MOVE = compiled(
    update(ITEMS)
    .where(
        _i.tenant == bindparam("of_tenant"),
        _i.thread_id == bindparam("from_thread"),
        _i.item_id == any_(bindparam("ids", type_=ARRAY(Text))),
    )
    .values(
        thread_id=bindparam("to_thread"),
        position=bindparam("last") + func.array_position(bindparam("ids", type_=ARRAY(Text)), _i.item_id),
    )
)


def thread_of(row: Row) -> Thread:
    """The thread of a row with `doc` and, beside it, its `items`."""
    return thread_doc.load(row["doc"], _items(row["items"]))


async def items_of(tx: Tx, tenant: str, thread_id: str) -> tuple[ContextItem, ...]:
    """The items of a thread that is locked, in order."""
    return _items(await tx.fetchval(_OF, of_tenant=tenant, of_thread=thread_id))


async def add_items(tx: Tx, tenant: str, threads: Sequence[Thread]) -> None:
    """The items of new threads."""
    records = [
        (tenant, thread.thread_id, item.id, place, item.source, item.type, item.label, _dump(item.payload))
        for thread in threads
        for place, item in enumerate(thread.context_items, start=1)
    ]
    if records:
        await tx.raw.copy_records_to_table("thread_items", records=records, columns=_COLUMNS)


async def move_items(tx: Tx, tenant: str, ids: Sequence[str], source: str, to: Thread) -> int:
    """One conditional update, appended in this order behind what is there; how many had `source` as their owner.

    `to`: the new owner as it was before, with its items.
    """
    last = len(to.context_items) and await tx.fetchval(_LAST, of_tenant=tenant, of_thread=to.thread_id)
    return await tx.execute(
        _MOVE, of_tenant=tenant, from_thread=source, ids=list(ids), to_thread=to.thread_id, last=last
    )


_LAST = compiled(
    select(func.max(_i.position)).where(_i.tenant == bindparam("of_tenant"), _i.thread_id == bindparam("of_thread"))
)


def _items(listed: str | None) -> tuple[ContextItem, ...]:
    values: list[Any] = orjson.loads(listed) if listed else []
    return tuple(item_from(value) for value in values)


def _dump(payload: Any) -> str | None:
    return None if payload is None else orjson.dumps(payload).decode()
