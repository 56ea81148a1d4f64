"""Forgets what nobody asks for any more: jobs that are over, turns and sessions that ended long ago, and what
deleted sessions were told."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

from sqlalchemy import Interval, bindparam, delete, func, or_, select

from services.coordination.adapters.job_sql import JOBS
from services.coordination.adapters.tables import DELETED_SESSIONS, ENDED_TURNS, INJECTIONS, WORKERS
from services.kernel.errors import Conflict, Unavailable
from services.kernel.postgres import Database, compiled
from services.kernel.telemetry import get_logger

_EVERY: Final = 3600.0
_JOBS_KEPT: Final = timedelta(days=7)
_ENDS_KEPT: Final = timedelta(days=30)
_log = get_logger("coordination.purge")
_j, _e, _d, _w, _i = (one.c for one in (JOBS, ENDED_TURNS, DELETED_SESSIONS, WORKERS, INJECTIONS))
_KEPT = bindparam("kept", type_=Interval)
_OVER = compiled(
    delete(JOBS).where(
        or_(_j.state == "done", _j.state == "failed", _j.state == "cancelled"), _j.updated_at < func.now() - _KEPT
    )
)
# A worker that has not ended asks how the turn ended that spawned it.
_asked = select(_w.id).where(
    _w.tenant == _e.tenant,
    _w.coordinator_id == _e.session_id,
    _w.spawned_by_turn == _e.turn_id,
    _w.ended_at.is_(None),
)
_ENDED = compiled(delete(ENDED_TURNS).where(_e.ended_at < func.now() - _KEPT, ~_asked.exists()))
# One that was composed while its session was being deleted is found at the next round.
_gone = select(_d.session_id).where(_d.tenant == _i.tenant, _d.session_id == _i.session_id)
_UNASKED = compiled(delete(INJECTIONS).where(_gone.exists()))
_DELETED = compiled(delete(DELETED_SESSIONS).where(_d.deleted_at < func.now() - _KEPT))


async def purge_forever(database: Database) -> None:
    """A duty of its own, once an hour; a database that is away is tried again then."""
    while True:
        try:
            await purge(database)
        except (Unavailable, Conflict) as refusal:
            _log.warning("purge.waits", reason=refusal.reason)
        await asyncio.sleep(_EVERY)


async def purge(database: Database) -> None:
    """Once."""
    async with database.connection() as tx:
        await tx.execute(_OVER, kept=_JOBS_KEPT)
        await tx.execute(_ENDED, kept=_ENDS_KEPT)
        await tx.execute(_UNASKED)
        await tx.execute(_DELETED, kept=_ENDS_KEPT)
