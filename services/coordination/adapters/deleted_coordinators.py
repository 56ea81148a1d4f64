"""Forgets coordinators whose sessions were deleted long ago: worker by worker, each with all that is its own in one
transaction, and the record last. Wherever it is cut short, what is left is whole, and the next round goes on.

Nothing goes while a worker is live or its session has still to be aborted: whoever looks after those needs the rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from sqlalchemy import Integer, Interval, bindparam, delete, func, or_, select, tuple_

from services.coordination.adapters.job_sql import JOBS
from services.coordination.adapters.tables import COORDINATORS, DELETED_SESSIONS, INJECTIONS, NOTES, STOPS, WORKERS
from services.kernel.postgres import Database, Row, Tx, compiled
from services.kernel.telemetry import get_logger

_MOST: Final = 100
_log = get_logger("coordination.purge")
_c, _d, _w, _n, _i, _s, _j = (
    one.c for one in (COORDINATORS, DELETED_SESSIONS, WORKERS, NOTES, INJECTIONS, STOPS, JOBS)
)
_ITS = (_w.tenant == _c.tenant) & (_w.coordinator_id == _c.session_id)
_aborting = select(_s.session_id).where(_s.tenant == _w.tenant, _s.session_id == _w.session_id)
_needed = select(_w.id).where(_ITS, or_(_w.ended_at.is_(None), _aborting.exists())).correlate(COORDINATORS)
# Where it is not known any more when the session was deleted, that is longer ago than is remembered.
_lately = select(_d.session_id).where(
    _d.tenant == _c.tenant,
    _d.session_id == _c.session_id,
    _d.deleted_at >= func.now() - bindparam("kept", type_=Interval),
)
_FORGOTTEN = _c.deleted & ~_lately.exists() & ~_needed.exists()
_KEY = (_c.tenant == bindparam("of_tenant")) & (_c.session_id == bindparam("of_session"))
_CANDIDATES = compiled(
    select(_c.tenant, _c.session_id)
    .where(_FORGOTTEN, tuple_(_c.tenant, _c.session_id) > tuple_(bindparam("after_tenant"), bindparam("after_session")))
    .order_by(_c.tenant, _c.session_id)
    .limit(bindparam("most", type_=Integer))
)
_HOLD = compiled(select(_c.session_id).where(_KEY, _FORGOTTEN).with_for_update(of=COORDINATORS, skip_locked=True))
_ONE = compiled(
    select(_w.id, _w.kind, _w.session_id)
    .where(_w.tenant == bindparam("of_tenant"), _w.coordinator_id == bindparam("of_session"))
    .limit(1)
)
_FORGET_NOTES = compiled(
    delete(NOTES).where(
        _n.tenant == bindparam("of_tenant"),
        _n.coordinator_id == bindparam("of_session"),
        _n.worker_id == bindparam("of_worker"),
    )
)
_FORGET_JOBS = compiled(delete(JOBS).where(_j.tenant == bindparam("of_tenant"), _j.subject == bindparam("of_worker")))
_FORGET_TOLD = compiled(
    delete(INJECTIONS).where(_i.tenant == bindparam("of_tenant"), _i.session_id == bindparam("of_session"))
)
# Its reports go with it, as the notes and the wake of a coordinator do.
_FORGET_WORKER = compiled(delete(WORKERS).where(_w.tenant == bindparam("of_tenant"), _w.id == bindparam("of_worker")))
_FORGET = compiled(delete(COORDINATORS).where(_KEY))


async def forget_deleted(database: Database, kept: timedelta) -> None:
    """Those whose sessions were deleted longer ago than that, and none of whose workers is needed any more."""
    after = {"after_tenant": "", "after_session": ""}
    while True:
        async with database.connection() as tx:
            found = await tx.fetch(_CANDIDATES, kept=kept, most=_MOST, **after)
        for one in found:
            while await _forget_some(database, one, kept):
                pass
        if len(found) < _MOST:
            return
        after = {"after_tenant": found[-1]["tenant"], "after_session": found[-1]["session_id"]}


async def _forget_some(database: Database, one: Row, kept: timedelta) -> bool:
    """A worker of the coordinator, or the record of one that has none left; whether there may be more. Reports may have
    three MiB each: of one worker at a time."""
    of = {"of_tenant": one["tenant"], "of_session": one["session_id"]}
    async with database.transaction() as tx:
        if await tx.fetchval(_HOLD, kept=kept, **of) is None:
            return False  # somebody works on it just now: at the next round
        worker = await tx.fetchrow(_ONE, **of)
        if worker is not None:
            await _forget_worker(tx, of, worker)
            return True
        await tx.execute(_FORGET_TOLD, **of)
        await tx.execute(_FORGET, **of)
    _log.info("coordinator.forgotten", tenant=one["tenant"], session=one["session_id"])
    return False


async def _forget_worker(tx: Tx, of: dict[str, str], worker: Row) -> None:
    """What a registered worker's session was told stays: that conversation is its own."""
    tenant, worker_id = of["of_tenant"], worker["id"]
    await tx.execute(_FORGET_NOTES, **of, of_worker=worker_id)
    await tx.execute(_FORGET_JOBS, of_tenant=tenant, of_worker=worker_id)
    if worker["kind"] == "subagent":
        await tx.execute(_FORGET_TOLD, of_tenant=tenant, of_session=worker["session_id"])
    await tx.execute(_FORGET_WORKER, of_tenant=tenant, of_worker=worker_id)
