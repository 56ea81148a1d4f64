"""Reads whole threads for `verify`, a page at a time, each page over one snapshot."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from sqlalchemy import Column, MetaData, Table, Text, and_, any_, bindparam, func, or_, select, text, tuple_
from sqlalchemy.dialects.postgresql import ARRAY

from services.kernel.postgres import Database, Row, Tx, compiled
from services.threads.adapters import tables
from services.threads.adapters.family_tables import LIVE
from services.threads.adapters.items import WITH_ITEMS, thread_of
from services.threads.adapters.log import event_of
from services.threads.adapters.tables import THREADS
from services.threads.application.verifying import Place, Stored, faults
from services.threads.domain.cascade import Tally
from services.threads.domain.events import Event

_PAGE: Final = 100
_t, _e = THREADS.c, tables.EVENTS.c
_p = THREADS.alias("parent")
_JOBS: Final = Table(
    "jobs", MetaData(), Column("tenant", Text), Column("subject", Text), Column("kind", Text), Column("state", Text)
)
_j = _JOBS.c
_THREADS_AFTER = compiled(
    select(
        _t.tenant,
        _t.id,
        _t.state,
        _t.session_id,
        _t.timer_at,
        _t.doc,
        WITH_ITEMS,
        _t.parent_id,
        _t.path,
        _t.children,
        _t.open_children,
        _t.ends_early,
        _t.policy_met,
        _p.c.path.label("path_of_parent"),
    )
    .select_from(THREADS.outerjoin(_p, and_(_p.c.tenant == _t.tenant, _p.c.id == _t.parent_id)))
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
    select(
        _t.tenant,
        _t.parent_id,
        func.count().label("all"),
        func.count().filter(LIVE).label("live"),
        func.count().filter(_t.state == text("'dismissed'")).label("dismissed"),
    )
    .where(_t.parent_id == any_(bindparam("ids", type_=ARRAY(Text))))
    .group_by(_t.tenant, _t.parent_id)
)
_COUNT = compiled(select(func.count()).select_from(THREADS))
_IDS = bindparam("ids", type_=ARRAY(Text))
_busy = (
    select(func.unnest(_t.path).label("above"))
    .where(_t.state == text("'executing'"), _t.path.op("&&")(_IDS))
    .subquery("busy")
)
_EXECUTING_BELOW = compiled(select(_busy.c.above).where(_busy.c.above == any_(_IDS)).distinct())


async def verify(database: Database) -> list[str]:
    """Every fault of every thread of every tenant, in words; empty when all is well. Safe to run at any time."""
    return [fault async for stored in all_stored(database) for fault in faults(stored)]


async def count_threads(database: Database) -> int:
    """How many threads there are in all."""
    async with database.connection() as tx:
        threads: int = await tx.fetchval(_COUNT)
    return threads


async def all_stored(database: Database) -> AsyncIterator[Stored]:
    """Every thread with everything about it, in order of tenant and id."""
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
    children = {
        (row["tenant"], row["parent_id"]): Tally(row["all"], row["live"], row["dismissed"])
        for row in await tx.fetch(_CHILDREN, ids=ids)
    }
    met = [row["id"] for row in rows if row["policy_met"]]
    busy = {row["above"] for row in await tx.fetch(_EXECUTING_BELOW, ids=met)} if met else set()
    return [
        Stored(
            tenant=row["tenant"],
            thread=thread_of(row),
            state_column=row["state"],
            session_column=row["session_id"],
            timer=row["timer_at"],
            events=events.get(key, []),
            live_jobs=live.get(key, []),
            tally=children.get(key, Tally(0, 0, 0)),
            place=Place(row["parent_id"], tuple(row["path"]), _path(row["path_of_parent"])),
            columns=(row["children"], row["open_children"]),
            ends_early=row["ends_early"],
            policy_met=row["policy_met"],
            executing_below=row["id"] in busy,
        )
        for row in rows
        if (key := (row["tenant"], row["id"]))
    ]


def _path(path: list[str] | None) -> tuple[str, ...] | None:
    return None if path is None else tuple(path)
