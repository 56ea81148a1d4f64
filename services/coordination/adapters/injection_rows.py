"""What sessions are told, and were told, in Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Integer, Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import insert

from services.coordination.adapters.tables import COORDINATORS, INJECTIONS, NOTES, WORKERS
from services.coordination.domain.injection import CoordinatorView, Injection, Member, WorkerView
from services.coordination.domain.worker import Status
from services.kernel.postgres import Database, Row, Tx, compiled

_c, _w, _n, _i = COORDINATORS.c, WORKERS.c, NOTES.c, INJECTIONS.c
_STORED = ("session_id", "turn_id", "role", "text", "sha256", "created_at")
_BRIEF_READ = 1_000
"""Code points of a brief that are read for the roster; spaces in it are joined before it is cut to 120."""
_OF_SESSION = (_i.tenant == bindparam("of_tenant")) & (_i.session_id == bindparam("of_session"))
_COLUMNS = [_i[name] for name in _STORED]
_OF_TURN = compiled(select(*_COLUMNS).where(_OF_SESSION, _i.turn_id == bindparam("of_turn")))
_NEWEST = compiled(select(*_COLUMNS).where(_OF_SESSION).order_by(_i.created_at.desc(), _i.turn_id.desc()).limit(1))
_KEEP = compiled(
    insert(INJECTIONS).values({name: bindparam(name) for name in ("tenant", *_STORED)}).on_conflict_do_nothing()
)
_on = (_c.enabled & ~_c.deleted).label("on")
_WORKER = compiled(
    select(_w.id, _w.name, _w.brief, _w.context, _w.coordinator_id, _on)
    .select_from(WORKERS.join(COORDINATORS, (_c.tenant == _w.tenant) & (_c.session_id == _w.coordinator_id)))
    .where(_w.tenant == bindparam("of_tenant"), _w.session_id == bindparam("of_session"))
)
_COORDINATOR = compiled(
    select(_on).where(_c.tenant == bindparam("of_tenant"), _c.session_id == bindparam("of_session"))
)
_MEMBERS = compiled(
    select(
        _w.id,
        _w.name,
        _w.kind,
        _w.status,
        _w.reason,
        func.left(_w.brief, bindparam("brief_read", type_=Integer)).label("brief"),
        _w.has_result,
        _w.partial,
        (_w.report_version > _w.collected_version).label("uncollected"),
    )
    .where(_w.tenant == bindparam("of_tenant"), _w.coordinator_id == bindparam("of_coordinator"))
    .order_by(_w.created_at, _w.id)
)
_NOTES = compiled(
    select(_n.text)
    .where(
        _n.tenant == bindparam("of_tenant"),
        _n.coordinator_id == bindparam("of_coordinator"),
        _n.worker_id == bindparam("of_worker", type_=Text),
    )
    .order_by(_n.sequence.desc())
)


class PostgresInjections:
    """Fills `Injections`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def view(self, tenant: str, session_id: str) -> CoordinatorView | WorkerView | None:
        """Over one snapshot; the index of workers is asked first (A5)."""
        of = {"of_tenant": tenant, "of_session": session_id}
        async with self._database.transaction(read_snapshot=True) as tx:
            worker = await tx.fetchrow(_WORKER, **of)
            if worker is not None:
                return await _worker_view(tx, tenant, worker) if worker["on"] else None
            if not await tx.fetchval(_COORDINATOR, **of):
                return None
            rows = await tx.fetch(_MEMBERS, of_tenant=tenant, of_coordinator=session_id, brief_read=_BRIEF_READ)
            members = [_member(row) for row in rows]
            return CoordinatorView(members, await _notes(tx, tenant, session_id, ""))

    async def find(self, tenant: str, session_id: str, turn_id: str) -> Injection | None:
        """By the primary key, or the index of the newest."""
        of = {"of_tenant": tenant, "of_session": session_id}
        async with self._database.connection() as tx:
            row = await (tx.fetchrow(_OF_TURN, **of, of_turn=turn_id) if turn_id else tx.fetchrow(_NEWEST, **of))
        return None if row is None else Injection(*row)

    async def keep(self, tenant: str, made: Injection) -> Injection:
        """Two at once: the key decides, and both answer the same bytes."""
        async with self._database.connection() as tx:
            await tx.execute(_KEEP, tenant=tenant, **{name: getattr(made, name) for name in _STORED})
        kept = await self.find(tenant, made.session_id, made.turn_id)
        return made if kept is None else kept


async def _worker_view(tx: Tx, tenant: str, own: Row) -> WorkerView:
    # Siblings' briefs are not read at all: a worker is not told of them.
    rows = await tx.fetch(_MEMBERS, of_tenant=tenant, of_coordinator=own["coordinator_id"], brief_read=0)
    siblings = [_member(row) for row in rows if row["id"] != own["id"]]
    notes = await _notes(tx, tenant, own["coordinator_id"], own["id"])
    return WorkerView(own["name"], own["brief"], own["context"], notes, siblings)


async def _notes(tx: Tx, tenant: str, coordinator_id: str, worker_id: str) -> Sequence[str]:
    rows = await tx.fetch(_NOTES, of_tenant=tenant, of_coordinator=coordinator_id, of_worker=worker_id)
    return [row["text"] for row in rows]


def _member(row: Row) -> Member:
    return Member(
        row["name"],
        row["kind"],
        Status(row["status"]),
        row["reason"],
        row["brief"],
        row["has_result"],
        row["partial"],
        row["uncollected"],
    )
