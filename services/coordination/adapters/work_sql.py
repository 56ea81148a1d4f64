"""The statements of adapters/work.py, compiled once. Invariants are in the tables' indexes and checks."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Text, bindparam, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from services.coordination.adapters.rows import COORDINATOR_FIELDS, NOTE_FIELDS, REPORT_FIELDS, WORKER_FIELDS
from services.coordination.adapters.tables import (
    COORDINATORS,
    DELETED_SESSIONS,
    ENDED_TURNS,
    NOTES,
    REPORTS,
    STOPS,
    WAKES,
    WORKERS,
)
from services.kernel.postgres import compiled

_c, _w, _n, _e, _d = (one.c for one in (COORDINATORS, WORKERS, NOTES, ENDED_TURNS, DELETED_SESSIONS))
_SPENT: Final = ("spent_ms", "spent_tokens")
COORDINATOR_CHANGED: Final = tuple(
    name for name in COORDINATOR_FIELDS if name not in ("tenant", "session_id", "created_at", *_SPENT)
)
WORKER_CHANGED: Final = tuple(
    name for name in WORKER_FIELDS if name not in ("tenant", "id", "coordinator_id", "name", "created_at")
)
COORDINATOR: Final = [_c[name] for name in COORDINATOR_FIELDS]
WORKER: Final = [_w[name] for name in WORKER_FIELDS]
NOTE: Final = [_n[name] for name in NOTE_FIELDS]
_THIS = (_c.tenant == bindparam("of_tenant")) & (_c.session_id == bindparam("of_id"))
_ITS = (_w.tenant == bindparam("of_tenant")) & (_w.coordinator_id == bindparam("of_coordinator"))
_ONE = (_w.tenant == bindparam("of_tenant")) & (_w.id == bindparam("of_id"))
_LIST = (
    (_n.tenant == bindparam("of_tenant"))
    & (_n.coordinator_id == bindparam("of_coordinator"))
    & (_n.worker_id == bindparam("of_worker"))
)

HOLD_SESSION = compiled(select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("session", type_=Text), 0))))
LOCK_COORDINATOR = compiled(select(*COORDINATOR).where(_THIS).with_for_update())
MAKE_COORDINATOR = compiled(
    insert(COORDINATORS).values({name: bindparam(name) for name in COORDINATOR_FIELDS}).on_conflict_do_nothing()
)
SAVE_COORDINATOR = compiled(
    update(COORDINATORS).where(_THIS).values({name: bindparam(name) for name in COORDINATOR_CHANGED})
)
CHARGE = compiled(
    update(COORDINATORS)
    .where(_THIS)
    .values(spent_ms=_c.spent_ms + bindparam("more_ms"), spent_tokens=_c.spent_tokens + bindparam("more_tokens"))
    .returning(*COORDINATOR)
)
LOCK_WORKER_NAMED = compiled(select(*WORKER).where(_ITS, _w.name == bindparam("of_name")).with_for_update())
LOCK_WORKER = compiled(select(*WORKER).where(_ONE).with_for_update())
WORKER_OF_SESSION = compiled(
    select(*WORKER).where(_w.tenant == bindparam("of_tenant"), _w.session_id == bindparam("of_session"))
)
LOCK_LIVE = compiled(
    select(*WORKER)
    .where(
        _ITS,
        _w.ended_at.is_(None),
        bindparam("of_turn", type_=Text).is_(None) | (_w.spawned_by_turn == bindparam("of_turn", type_=Text)),
    )
    .order_by(_w.id)
    .with_for_update()
)
COUNT_WORKERS = compiled(
    select(func.count().filter(_w.ended_at.is_(None)).label("live"), func.count().label("total")).where(_ITS)
)
INSERT_WORKER = compiled(
    insert(WORKERS).values({name: bindparam(name) for name in WORKER_FIELDS}).on_conflict_do_nothing().returning(_w.id)
)
SAVE_WORKER = compiled(update(WORKERS).where(_ONE).values({name: bindparam(name) for name in WORKER_CHANGED}))
DROP_WORKER = compiled(delete(WORKERS).where(_ONE, _w.ended_at.is_not(None), _w.report_version == 0))
MOVE_NOTES = compiled(update(NOTES).where(_LIST).values(worker_id=bindparam("to_id")))
INSERT_NOTE = compiled(
    insert(NOTES).values(
        tenant=bindparam("of_tenant"),
        coordinator_id=bindparam("of_coordinator"),
        worker_id=bindparam("of_worker"),
        **{name: bindparam(name) for name in NOTE_FIELDS},
    )
)
_eldest = select(_n.sequence).where(_LIST).order_by(_n.sequence.desc()).offset(bindparam("kept")).limit(1)
EVICT_NOTE = compiled(delete(NOTES).where(_LIST, _n.sequence <= _eldest.scalar_subquery()).returning(*NOTE))
COUNT_NOTES = compiled(select(func.count()).select_from(NOTES).where(_LIST))
INSERT_REPORT = compiled(
    insert(REPORTS).values({name: bindparam(name) for name in ("tenant", "worker_id", "result_length", *REPORT_FIELDS)})
)
TURN_ENDED = compiled(
    select(_e.outcome).where(
        _e.tenant == bindparam("of_tenant"),
        _e.session_id == bindparam("of_session"),
        _e.turn_id == bindparam("of_turn"),
    )
)
NOTE_TURN_END = compiled(
    insert(ENDED_TURNS)
    .values({name: bindparam(name) for name in ("tenant", "session_id", "turn_id", "outcome", "ended_at")})
    .on_conflict_do_nothing()
    .returning(_e.turn_id)
)
SESSION_DELETED = compiled(
    select(_d.session_id).where(_d.tenant == bindparam("of_tenant"), _d.session_id == bindparam("of_session"))
)
NOTE_SESSION_DELETED = compiled(
    insert(DELETED_SESSIONS)
    .values({name: bindparam(name) for name in ("tenant", "session_id", "deleted_at")})
    .on_conflict_do_nothing()
    .returning(_d.session_id)
)
WANT_STOP = compiled(
    insert(STOPS)
    .values({"attempts": 0, **{name: bindparam(name) for name in ("tenant", "session_id", "due_at")}})
    .on_conflict_do_nothing()
)
_wake = insert(WAKES).values(
    {"attempts": 0, **{name: bindparam(name) for name in ("tenant", "coordinator_id", "wake_id", "due_at")}}
)
WANT_WAKE = compiled(
    _wake.on_conflict_do_update(index_elements=["tenant", "coordinator_id"], set_={"wake_id": _wake.excluded.wake_id})
)
