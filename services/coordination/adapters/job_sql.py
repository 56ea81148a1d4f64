"""The statements of adapters/job_rows.py, compiled once."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Integer,
    Interval,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB

from services.coordination.adapters.tables import REPORTS, WAKES, WORKERS
from services.coordination.adapters.work_sql import WORKER
from services.kernel.jobs import Job
from services.kernel.postgres import compiled

JOB_FIELDS: Final = tuple(one.name for one in fields(Job))
JOBS: Final = Table(
    "jobs",
    MetaData(),
    *(Column(name, Text) for name in ("tenant", "id", "kind", "subject", "state", "runner_id", "claim_id", "reason")),
    *(Column(name, Boolean) for name in ("started", "cancel_requested")),
    *(Column(name, DateTime(timezone=True)) for name in ("run_at", "lease_until", "created_at", "updated_at")),
    Column("payload", JSONB),
    Column("priority", Integer),
    Column("attempt", Integer),
    Column("fence", BigInteger),
)
_j, _w, _r, _k = (one.c for one in (JOBS, WORKERS, REPORTS, WAKES))
_clock = func.clock_timestamp()
_OF = (_w.tenant == _j.tenant) & (_w.id == _j.subject)
_WHOSE = [_j.tenant, _w.coordinator_id, _w.id.label("worker_id"), _j.id.label("job_id"), _w.session_id]
_BOTH = [*WORKER, *(_j[name].label(f"j_{name}") for name in JOB_FIELDS)]
_both = select(*_BOTH).select_from(JOBS.join(WORKERS, _OF))
_whose = select(*_WHOSE).select_from(JOBS.join(WORKERS, _OF))
_KIND = _j.kind == bindparam("kind")
_MOST = bindparam("most", type_=Integer)
_TIMED = select(_w.tenant, _w.coordinator_id, _w.id.label("worker_id"), _w.job_id, _w.session_id).where(
    _w.ended_at.is_(None)
)

WHOSE = compiled(_whose.where(_j.id == bindparam("of_job")))
QUEUED = compiled(
    _whose.where(_j.state == "queued", _j.run_at <= _clock, _KIND).order_by(_j.priority, _j.run_at, _j.id).limit(_MOST)
)
CLAIMED = compiled(
    _both.where(_j.claim_id == bindparam("the_claim"), _j.state == "leased", _j.lease_until > _clock).order_by(_j.id)
)
_AFTER = _j.id > bindparam("after_one")
LOST = compiled(_both.where(_j.state == "leased", _j.lease_until <= _clock, _KIND, _AFTER).order_by(_j.id).limit(_MOST))
UNWATCHED = compiled(
    _both.where(
        _j.state == "queued", _KIND, _w.launches > 0, _j.run_at <= _clock - bindparam("waited", type_=Interval), _AFTER
    )
    .order_by(_j.id)
    .limit(_MOST)
)
STILL_LOST = compiled(
    select(_j.id)
    .where(
        _j.id == bindparam("of_job"),
        _j.fence == bindparam("the_fence"),
        or_(_j.state == "queued", (_j.state == "leased") & (_j.lease_until <= _clock)),
    )
    .with_for_update()
)
EXPIRED = compiled(
    _TIMED.where(_w.expires_at <= bindparam("at"), _w.stop_reason == "").order_by(_w.expires_at).limit(_MOST)
)
UNSTOPPED = compiled(_TIMED.where(_w.stop_by <= bindparam("at")).order_by(_w.stop_by).limit(_MOST))
MARK_LATE = compiled(
    update(WORKERS)
    .where(
        _w.tenant == bindparam("of_tenant"),
        _w.coordinator_id == bindparam("of_coordinator"),
        _w.spawned_by_turn == bindparam("of_turn"),
        _w.ended_at >= bindparam("since"),
        _w.late.is_(False),
    )
    .values(late=true())
)
HASTEN_WAKE = compiled(
    update(WAKES)
    .where(
        _k.tenant == bindparam("of_tenant"),
        _k.coordinator_id == bindparam("of_coordinator"),
        _k.due_at > bindparam("at"),
    )
    .values(due_at=bindparam("at"), attempts=0)
)
REPORT = compiled(
    select(_r.text).where(
        _r.tenant == bindparam("of_tenant"),
        _r.worker_id == bindparam("of_worker"),
        _r.version == bindparam("of_version"),
    )
)
