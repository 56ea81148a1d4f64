"""Errands to streaming in Postgres: sessions to abort, coordinators to wake, and what a wake has to tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Integer, Text, any_, bindparam, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY

from services.coordination.adapters.tables import COORDINATORS, STOPS, WAKES, WORKERS
from services.coordination.application.run_ports import Due, Untold
from services.kernel.postgres import Database, compiled

_UNTOLD_MOST: Final = 1_000
_s, _k, _w, _c = (one.c for one in (STOPS, WAKES, WORKERS, COORDINATORS))
_MOST = bindparam("most", type_=Integer)
_STOP = (_s.tenant == bindparam("of_tenant")) & (_s.session_id == bindparam("of_session"))
_WAKE = (
    (_k.tenant == bindparam("of_tenant"))
    & (_k.coordinator_id == bindparam("of_session"))
    & (_k.wake_id == bindparam("of_wake"))
)
_STOPS = compiled(
    select(_s.tenant, _s.session_id, _s.attempts).where(_s.due_at <= bindparam("at")).order_by(_s.due_at).limit(_MOST)
)
_STOPPED = compiled(delete(STOPS).where(_STOP))
_STOP_LATER = compiled(update(STOPS).where(_STOP).values(due_at=bindparam("at"), attempts=_s.attempts + 1))
_WAKES = compiled(
    select(_k.tenant, _k.coordinator_id.label("session_id"), _k.attempts, _k.wake_id)
    .where(_k.due_at <= bindparam("at"))
    .order_by(_k.due_at)
    .limit(_MOST)
)
_UNTOLD = compiled(
    select(_w.id.label("worker_id"), _w.name, _w.status, _w.reason)
    .select_from(WORKERS.join(COORDINATORS, (_c.tenant == _w.tenant) & (_c.session_id == _w.coordinator_id)))
    .where(
        _w.tenant == bindparam("of_tenant"),
        _w.coordinator_id == bindparam("of_session"),
        _w.late,
        _w.woken_at.is_(None),
        _w.ended_at.is_not(None),
        or_(_w.report_version == 0, _w.collected_version < _w.report_version),
        _c.auto_wake,
        _c.enabled,
        _c.deleted.is_(False),
    )
    .order_by(_w.ended_at, _w.id)
    .limit(_UNTOLD_MOST)
)
_WOKEN = compiled(delete(WAKES).where(_WAKE))
_TOLD = compiled(
    update(WORKERS)
    .where(_w.tenant == bindparam("of_tenant"), _w.id == any_(bindparam("of_workers", type_=ARRAY(Text))))
    .values(woken_at=func.coalesce(_w.woken_at, bindparam("at", type_=_w.woken_at.type)))
)
_WAKE_LATER = compiled(update(WAKES).where(_WAKE).values(due_at=bindparam("at"), attempts=_k.attempts + 1))


class PostgresErrands:
    """Fills `Errands`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def stops(self, now: datetime, most: int) -> Sequence[Due]:
        """Longest due first."""
        async with self._database.connection() as tx:
            return [
                Due(row["tenant"], row["session_id"], row["attempts"], "")
                for row in await tx.fetch(_STOPS, at=now, most=most)
            ]

    async def stopped(self, due: Due) -> None:
        """Forgotten."""
        async with self._database.connection() as tx:
            await tx.execute(_STOPPED, of_tenant=due.tenant, of_session=due.session_id)

    async def stop_later(self, due: Due, at: datetime) -> None:
        """Counted."""
        async with self._database.connection() as tx:
            await tx.execute(_STOP_LATER, of_tenant=due.tenant, of_session=due.session_id, at=at)

    async def wakes(self, now: datetime, most: int) -> Sequence[Due]:
        """Longest due first."""
        async with self._database.connection() as tx:
            return [
                Due(row["tenant"], row["session_id"], row["attempts"], row["wake_id"])
                for row in await tx.fetch(_WAKES, at=now, most=most)
            ]

    async def untold(self, due: Due) -> Sequence[Untold]:
        """As it is now: none where the coordinator does not want to be woken any more."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(_UNTOLD, of_tenant=due.tenant, of_session=due.session_id)
        return [Untold(**dict(row)) for row in rows]

    async def woken(self, due: Due, told: Sequence[str], at: datetime) -> None:
        """Workers first, then the wake, unless a later end has made it another one."""
        async with self._database.transaction() as tx:
            await tx.execute(_TOLD, of_tenant=due.tenant, of_workers=sorted(told), at=at)
            await tx.execute(_WOKEN, of_tenant=due.tenant, of_session=due.session_id, of_wake=due.token)

    async def wake_later(self, due: Due, at: datetime) -> None:
        """Counted."""
        async with self._database.connection() as tx:
            await tx.execute(_WAKE_LATER, of_tenant=due.tenant, of_session=due.session_id, of_wake=due.token, at=at)
