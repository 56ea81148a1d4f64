"""What readers see of coordinators and workers; long texts are left out, so that an answer always fits (PUB23)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Text, and_, any_, bindparam, case, func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY

from services.coordination.adapters.rows import coordinator_of, note_of, worker_of
from services.coordination.adapters.tables import COORDINATORS, NOTES, REPORTS, WORKERS
from services.coordination.adapters.work_sql import COORDINATOR, NOTE, WORKER, WORKER_OF_SESSION
from services.coordination.application.ports import (
    NOTES_SHOWN,
    PAGE_SHOWN,
    RESULT_SHOWN,
    CoordinatorSeen,
    Page,
    Place,
    Seen,
)
from services.coordination.application.work import Note
from services.coordination.domain.worker import Worker
from services.kernel.postgres import Database, Row, Tx, compiled

_c, _w, _n, _r = (one.c for one in (COORDINATORS, WORKERS, NOTES, REPORTS))
_SPACE: Final = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""What str.strip() takes off."""

_changed = select(func.max(_w.updated_at)).where(_w.tenant == _c.tenant, _w.coordinator_id == _c.session_id)
_COORDINATOR = compiled(
    select(*COORDINATOR, func.greatest(_c.updated_at, _changed.scalar_subquery()).label("changed_at")).where(
        _c.tenant == bindparam("of_tenant"), _c.session_id == bindparam("of_id")
    )
)
_result = case(
    (_r.result_length <= RESULT_SHOWN, func.coalesce(_r.section, func.btrim(_r.text, bindparam("space", _SPACE)))),
    else_=None,
)
_seen = (
    select(
        *WORKER,
        _result.label("shown_result"),
        func.coalesce(_r.result_length, 0).label("result_length"),
    )
    .select_from(
        WORKERS.outerjoin(
            REPORTS, (_r.tenant == _w.tenant) & (_r.worker_id == _w.id) & (_r.version == _w.report_version)
        )
    )
    .where(_w.tenant == bindparam("of_tenant"), _w.coordinator_id == bindparam("of_coordinator"))
)
_THEN = bindparam("open_at", type_=_w.created_at.type)
_open = or_(_THEN.is_(None), and_(_w.created_at <= _THEN, or_(_w.ended_at.is_(None), _w.ended_at > _THEN)))
_oldest_first = _seen.where(_open).order_by(_w.created_at, _w.id).limit(bindparam("size"))
_FIRST_PAGE = compiled(_oldest_first)
_NEXT_PAGE = compiled(
    _oldest_first.where(
        tuple_(_w.created_at, _w.id) > tuple_(bindparam("after_time", type_=_w.created_at.type), bindparam("after_id"))
    )
)
_NAMED = compiled(_seen.where(_w.name == bindparam("of_name")))
_THOSE = compiled(_seen.where(_w.id == any_(bindparam("of_workers", type_=ARRAY(Text)))).order_by(_w.created_at, _w.id))
_ALL_NOTES = (
    select(
        *NOTE,
        _n.worker_id,
        func.count().over(partition_by=_n.worker_id).label("total"),
        func.sum(func.octet_length(_n.text)).over(partition_by=_n.worker_id, order_by=_n.sequence.desc()).label("upto"),
    )
    .where(
        _n.tenant == bindparam("of_tenant"),
        _n.coordinator_id == bindparam("of_coordinator"),
        _n.worker_id == any_(bindparam("of_workers", type_=ARRAY(Text))),
    )
    .subquery()
)
_NEWEST_NOTES = compiled(
    select(_ALL_NOTES.c.worker_id, _ALL_NOTES.c.text, _ALL_NOTES.c.total)
    .where(_ALL_NOTES.c.upto <= NOTES_SHOWN)
    .order_by(_ALL_NOTES.c.worker_id, _ALL_NOTES.c.sequence)
)
_NOTES = compiled(
    select(*NOTE)
    .where(
        _n.tenant == bindparam("of_tenant"),
        _n.coordinator_id == bindparam("of_coordinator"),
        _n.worker_id == bindparam("of_worker"),
        _n.sequence > bindparam("after_one"),
    )
    .order_by(_n.sequence)
    .limit(bindparam("size"))
)


class PostgresReads:
    """Fills `Reads`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def coordinator(self, tenant: str, session_id: str) -> CoordinatorSeen | None:
        """Over one snapshot."""
        async with self._database.transaction(read_snapshot=True) as tx:
            row = await tx.fetchrow(_COORDINATOR, of_tenant=tenant, of_id=session_id)
            if row is None:
                return None
            notes, count = (await _newest(tx, tenant, session_id, [""])).get("", ([], 0))
        return CoordinatorSeen(coordinator_of(row), notes, count, row["changed_at"])

    async def workers(
        self, tenant: str, coordinator_id: str, after: Place | None, size: int, open_at: datetime | None = None
    ) -> Page:
        """One more is read, to know whether there is more."""
        of = {"of_tenant": tenant, "of_coordinator": coordinator_id, "size": size + 1, "open_at": open_at}
        async with self._database.transaction(read_snapshot=True) as tx:
            if after is None:
                rows = await tx.fetch(_FIRST_PAGE, **of)
            else:
                rows = await tx.fetch(_NEXT_PAGE, **of, after_time=after.created_at, after_id=after.worker_id)
            seen = await _shown(tx, tenant, coordinator_id, rows)
        page = _that_fit(seen[:size])
        last = page[-1].worker if len(page) < len(seen) else None
        return Page(page, None if last is None else Place(last.created_at, last.id))

    async def worker(self, tenant: str, coordinator_id: str, name: str) -> Seen | None:
        """By the index of names."""
        async with self._database.transaction(read_snapshot=True) as tx:
            rows = await tx.fetch(_NAMED, of_tenant=tenant, of_coordinator=coordinator_id, of_name=name)
            seen = await _shown(tx, tenant, coordinator_id, rows)
        return seen[0] if seen else None

    async def those(self, tenant: str, coordinator_id: str, worker_ids: Collection[str]) -> Sequence[Seen]:
        """By the primary key."""
        of = {"of_tenant": tenant, "of_coordinator": coordinator_id, "of_workers": list(worker_ids)}
        async with self._database.transaction(read_snapshot=True) as tx:
            return await _shown(tx, tenant, coordinator_id, await tx.fetch(_THOSE, **of))

    async def worker_of_session(self, tenant: str, session_id: str) -> Worker | None:
        """By the index of sessions."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(WORKER_OF_SESSION, of_tenant=tenant, of_session=session_id)
        return None if row is None else worker_of(row)

    async def notes(self, tenant: str, coordinator_id: str, worker_id: str, after: int, size: int) -> Sequence[Note]:
        """A page."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(
                _NOTES,
                of_tenant=tenant,
                of_coordinator=coordinator_id,
                of_worker=worker_id,
                after_one=after,
                size=size,
            )
        return [note_of(row) for row in rows]


async def _shown(tx: Tx, tenant: str, coordinator_id: str, rows: Sequence[Row]) -> list[Seen]:
    notes = await _newest(tx, tenant, coordinator_id, [row["id"] for row in rows])
    none: tuple[list[str], int] = ([], 0)
    return [
        Seen(worker_of(row), *notes.get(row["id"], none), row["shown_result"], row["result_length"]) for row in rows
    ]


async def _newest(
    tx: Tx, tenant: str, coordinator_id: str, worker_ids: Sequence[str]
) -> dict[str, tuple[list[str], int]]:
    """(the newest notes that fit, how many there are) by worker."""
    found: dict[str, tuple[list[str], int]] = {}
    rows = await tx.fetch(_NEWEST_NOTES, of_tenant=tenant, of_coordinator=coordinator_id, of_workers=list(worker_ids))
    for row in rows:
        notes, _ = found.setdefault(row["worker_id"], ([], row["total"]))
        notes.append(row["text"])
    return found


def _that_fit(seen: Sequence[Seen]) -> list[Seen]:
    """The first ones whose texts have at most PAGE_SHOWN bytes together, and never none."""
    left = PAGE_SHOWN
    fit: list[Seen] = []
    for one in seen:
        left -= sum(
            len(text.encode()) for text in (one.worker.brief, one.worker.cancel_reason, one.result or "", *one.notes)
        )
        if left < 0 and fit:
            break
        fit.append(one)
    return fit
