"""Forgets what nobody asks for any more: jobs that are over, turns and sessions that ended long ago, what deleted
sessions were told, and of the others all but their newest injections. In batches, each a transaction of its own."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Integer, Interval, bindparam, delete, func, or_, select, tuple_

from services.coordination.adapters.deleted_coordinators import forget_deleted
from services.coordination.adapters.job_sql import JOBS
from services.coordination.adapters.tables import COORDINATORS, DELETED_SESSIONS, ENDED_TURNS, INJECTIONS, WORKERS
from services.coordination.domain.limits import INJECTIONS_KEPT
from services.kernel.errors import Conflict, Unavailable
from services.kernel.postgres import Database, Statement, compiled
from services.kernel.telemetry import get_logger

_EVERY: Final = 3600.0
_JOBS_KEPT: Final = timedelta(days=7)
_ENDS_KEPT: Final = timedelta(days=30)
_BATCH: Final = 1_000
"""Rows of one statement: nobody waits for long, and what was done before a crash stays done."""
_log = get_logger("coordination.purge")
_j, _e, _d, _w, _i, _c = (one.c for one in (JOBS, ENDED_TURNS, DELETED_SESSIONS, WORKERS, INJECTIONS, COORDINATORS))
_KEPT = bindparam("kept", type_=Interval)
_SOME = bindparam("batch", type_=Integer)
_old = JOBS.alias()
_over = select(_old.c.id).where(
    or_(_old.c.state == "done", _old.c.state == "failed", _old.c.state == "cancelled"),
    _old.c.updated_at < func.now() - _KEPT,
)
_OVER = compiled(delete(JOBS).where(_j.id.in_(_over.limit(_SOME))))
# A worker that has not ended asks how the turn ended that spawned it.
_turn = ENDED_TURNS.alias()
_asked = select(_w.id).where(
    _w.tenant == _turn.c.tenant,
    _w.coordinator_id == _turn.c.session_id,
    _w.spawned_by_turn == _turn.c.turn_id,
    _w.ended_at.is_(None),
)
_unasked_turns = select(_turn.c.tenant, _turn.c.session_id, _turn.c.turn_id).where(
    _turn.c.ended_at < func.now() - _KEPT, ~_asked.exists()
)
_ENDED = compiled(
    delete(ENDED_TURNS).where(tuple_(_e.tenant, _e.session_id, _e.turn_id).in_(_unasked_turns.limit(_SOME)))
)
# One that was composed while its session was being deleted is found at the next round.
_told = INJECTIONS.alias()
_of_deleted = select(_told.c.tenant, _told.c.session_id, _told.c.turn_id).join(
    DELETED_SESSIONS, (_d.tenant == _told.c.tenant) & (_d.session_id == _told.c.session_id)
)
_THESE = tuple_(_i.tenant, _i.session_id, _i.turn_id)
_UNASKED = compiled(delete(INJECTIONS).where(_THESE.in_(_of_deleted.limit(_SOME))))
_MANY = compiled(
    select(_i.tenant, _i.session_id)
    .group_by(_i.tenant, _i.session_id)
    .having(func.count() > INJECTIONS_KEPT)
    .limit(_SOME)
)
_of_session = select(_told.c.tenant, _told.c.session_id, _told.c.turn_id).where(
    _told.c.tenant == bindparam("of_tenant"), _told.c.session_id == bindparam("of_session")
)
_older = _of_session.order_by(_told.c.created_at.desc(), _told.c.turn_id.desc()).offset(INJECTIONS_KEPT)
_OLDER = compiled(delete(INJECTIONS).where(_THESE.in_(_older.limit(_SOME))))
# As long as there is the coordinator's record, it is known that its session is deleted.
_record = select(_c.session_id).where(_c.tenant == _d.tenant, _c.session_id == _d.session_id)
_DELETED = compiled(delete(DELETED_SESSIONS).where(_d.deleted_at < func.now() - _KEPT, ~_record.exists()))


async def purge_forever(database: Database, deleted_kept: timedelta) -> None:
    """A duty of its own, once an hour; a database that is away is tried again then. `deleted_kept`: how long the record
    of a coordinator, and all that hangs on it, outlives the deletion of its session."""
    while True:
        try:
            await purge(database, deleted_kept)
        except (Unavailable, Conflict) as refusal:
            _log.warning("purge.waits", reason=refusal.reason)
        await asyncio.sleep(_EVERY)


async def purge(database: Database, deleted_kept: timedelta) -> None:
    """Once."""
    await _in_batches(database, _OVER, kept=_JOBS_KEPT)
    await _in_batches(database, _ENDED, kept=_ENDS_KEPT)
    await _in_batches(database, _UNASKED)
    await _cut_injections(database)
    await forget_deleted(database, deleted_kept)
    async with database.connection() as tx:
        await tx.execute(_DELETED, kept=_ENDS_KEPT)


async def _cut_injections(database: Database) -> None:
    """Sessions with more than are kept keep the newest."""
    while True:
        async with database.connection() as tx:
            many = await tx.fetch(_MANY, batch=_BATCH)
        for row in many:
            await _in_batches(database, _OLDER, of_tenant=row["tenant"], of_session=row["session_id"])
        if len(many) < _BATCH:
            return


async def _in_batches(database: Database, statement: Statement, **values: Any) -> None:
    touched = _BATCH
    while touched == _BATCH:
        async with database.connection() as tx:
            touched = await tx.execute(statement, batch=_BATCH, **values)
