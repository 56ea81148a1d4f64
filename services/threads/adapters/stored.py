"""Reads whole threads for `verify`, a page at a time, each page over one snapshot."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from sqlalchemy import BigInteger, Column, MetaData, Table, Text, and_, any_, bindparam, func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY

from services.kernel.postgres import Database, Row, Tx, compiled
from services.threads.adapters import tables
from services.threads.adapters.items import WITH_ITEMS, thread_of
from services.threads.adapters.log import event_of
from services.threads.application.verifying import Stored, faults
from services.threads.domain.events import Event
from services.threads.domain.states import TERMINAL

_PAGE: Final = 100
_t, _e = tables.THREADS.c, tables.EVENTS.c
_JOBS: Final = Table(
    "jobs", MetaData(), Column("tenant", Text), Column("subject", Text), Column("kind", Text), Column("state", Text)
)
_j = _JOBS.c
_THREADS_AFTER = compiled(
    select(_t.tenant, _t.id, _t.state, _t.timer_at, _t.doc, WITH_ITEMS)
    .where(tuple_(_t.tenant, _t.id) > tuple_(bindparam("of_tenant", type_=Text), bindparam("of_id", type_=Text)))
    .order_by(_t.tenant, _t.id)
    .limit(_PAGE)
)
_OF_PAGE = and_(
    _e.tenant == any_(bindparam("tenants", type_=ARRAY(Text))),
    _e.thread_id == any_(bindparam("ids", type_=ARRAY(Text))),
)
_LOGS = compiled(select(tables.EVENTS).where(_OF_PAGE).order_by(_e.tenant, _e.thread_id, _e.seq))
_LIVE = compiled(
    select(_j.tenant, _j.subject, _j.kind, _j.state).where(
        _j.subject == any_(bindparam("ids", type_=ARRAY(Text))), or_(_j.state == "queued", _j.state == "leased")
    )
)
_CHILDREN = compiled(
    select(_t.tenant, _t.parent_id, func.count().cast(BigInteger).label("live"))
    .where(
        _t.parent_id == any_(bindparam("ids", type_=ARRAY(Text))),
        and_(*(_t.state != state.value for state in sorted(TERMINAL))),
    )
    .group_by(_t.tenant, _t.parent_id)
)


async def verify(database: Database) -> list[str]:
    """Every fault of every thread of every tenant, in words; empty when all is well. Safe to run at any time."""
    return [fault async for stored in _all(database) for fault in faults(stored)]


async def _all(database: Database) -> AsyncIterator[Stored]:
    last = ("", "")
    while True:
        async with database.transaction(read_snapshot=True) as tx:
            rows = await tx.fetch(_THREADS_AFTER, of_tenant=last[0], of_id=last[1])
            page = await _stored(tx, rows) if rows else []
        for stored in page:
            yield stored
        if len(rows) < _PAGE:
            return
        last = (rows[-1]["tenant"], rows[-1]["id"])


async def _stored(tx: Tx, rows: list[Row]) -> list[Stored]:
    ids = [row["id"] for row in rows]
    events: dict[tuple[str, str], list[Event]] = {}
    for row in await tx.fetch(_LOGS, tenants=list({row["tenant"] for row in rows}), ids=ids):
        events.setdefault((row["tenant"], row["thread_id"]), []).append(event_of(row))
    live: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in await tx.fetch(_LIVE, ids=ids):
        live.setdefault((row["tenant"], row["subject"]), []).append((row["kind"], row["state"]))
    children = {(row["tenant"], row["parent_id"]): row["live"] for row in await tx.fetch(_CHILDREN, ids=ids)}
    return [
        Stored(
            thread=thread_of(row),
            state_column=row["state"],
            timer=row["timer_at"],
            events=events.get(key, []),
            live_jobs=live.get(key, []),
            open_children=children.get(key, 0),
        )
        for row in rows
        if (key := (row["tenant"], row["id"]))
    ]
