"""The table of jobs and the statements on it, compiled once. What they mean is said in kernel/jobs.py."""

from __future__ import annotations

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
    any_,
    bindparam,
    false,
    func,
    null,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert

from services.kernel.postgres import compiled

_TABLE: Final = Table(
    "jobs",
    MetaData(),
    Column("tenant", Text),
    Column("id", Text, primary_key=True),
    Column("kind", Text),
    Column("subject", Text),
    Column("state", Text),
    Column("payload", JSONB),
    Column("priority", Integer),
    Column("attempt", Integer),
    Column("fence", BigInteger),
    Column("started", Boolean),
    Column("cancel_requested", Boolean),
    Column("run_at", DateTime(timezone=True)),
    Column("lease_until", DateTime(timezone=True)),
    Column("runner_id", Text),
    Column("claim_id", Text),
    Column("reason", Text),
    Column("created_at", DateTime(timezone=True)),
    Column("updated_at", DateTime(timezone=True)),
)
_j = _TABLE.c
_now = func.now()
_clock = func.clock_timestamp()
"""The database's clock at this very moment: now() would be the start of the transaction."""
_LIVE = or_(_j.state == "queued", _j.state == "leased")
_HELD = (
    (_j.id == bindparam("job_id"))
    & (_j.state == "leased")
    & (_j.fence == bindparam("the_fence"))
    & (_j.lease_until > _clock)
)

ENQUEUE = compiled(
    insert(_TABLE).values(
        tenant=bindparam("tenant"),
        id=bindparam("id"),
        kind=bindparam("kind"),
        subject=bindparam("subject"),
        state="queued",
        payload=bindparam("payload"),
        priority=bindparam("priority"),
        run_at=func.coalesce(bindparam("run_at", type_=DateTime(timezone=True)), _now),
    )
)
CANDIDATES = compiled(
    select(_TABLE)
    .where(
        _j.state == "queued",
        _j.run_at <= _clock,
        _j.kind == any_(bindparam("kinds", type_=ARRAY(Text))),
    )
    .order_by(_j.priority, _j.run_at, _j.id)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
LEASE = compiled(
    update(_TABLE)
    .where(_j.id == bindparam("job_id"), _j.state == "queued")
    .values(
        state="leased",
        fence=_j.fence + 1,
        attempt=_j.attempt + 1,
        started=false(),
        lease_until=_clock + bindparam("lease", type_=Interval),
        runner_id=bindparam("the_runner"),
        claim_id=bindparam("the_claim"),
        updated_at=_now,
    )
    .returning(*_j)
)
HOLD_CLAIM = compiled(
    select(func.pg_advisory_xact_lock(func.hashtextextended("claim " + bindparam("the_claim", type_=Text), 0)))
)
CLAIMED = compiled(
    select(_TABLE)
    .where(_j.claim_id == bindparam("the_claim"), _j.state == "leased", _j.lease_until > _clock)
    .order_by(_j.id)
)
HEARTBEAT = compiled(
    update(_TABLE)
    .where(_HELD)
    .values(lease_until=_clock + bindparam("lease", type_=Interval), updated_at=_now)
    .returning(_j.lease_until, _j.cancel_requested)
)
FIND = compiled(select(_TABLE).where(_j.id == bindparam("job_id")))
LOCK = compiled(select(_TABLE).where(_j.id == bindparam("job_id")).with_for_update())
HOLD = compiled(select(_TABLE).where(_HELD).with_for_update())
START = compiled(update(_TABLE).where(_HELD).values(started=true(), updated_at=_now))
END = compiled(
    update(_TABLE)
    .where(_j.id == bindparam("job_id"), _LIVE)
    .values(
        state=bindparam("to_state"),
        reason=bindparam("why"),
        lease_until=null(),
        updated_at=_now,
    )
)
REQUEUE = compiled(
    update(_TABLE)
    .where(_j.id == bindparam("job_id"), _j.state == "leased")
    .values(
        state="queued",
        lease_until=null(),
        claim_id=null(),
        runner_id=null(),
        started=false(),
        run_at=_clock + bindparam("delay", type_=Interval),
        reason=bindparam("why"),
        updated_at=_now,
    )
)
CANCEL = compiled(
    update(_TABLE)
    .where(_j.tenant == bindparam("the_tenant"), _j.subject == bindparam("the_subject"), _LIVE)
    .values(
        state="cancelled",
        reason=bindparam("why"),
        lease_until=null(),
        cancel_requested=true(),
        updated_at=_now,
    )
    .returning(_j.id)
)
CANCEL_MANY = compiled(
    update(_TABLE)
    .where(
        _j.tenant == bindparam("the_tenant"), _j.subject == any_(bindparam("the_subjects", type_=ARRAY(Text))), _LIVE
    )
    .values(
        state="cancelled",
        reason=bindparam("why"),
        lease_until=null(),
        cancel_requested=true(),
        updated_at=_now,
    )
)
REQUEST_CANCEL = compiled(
    update(_TABLE)
    .where(_j.tenant == bindparam("the_tenant"), _j.subject == bindparam("the_subject"), _j.state == "leased")
    .values(cancel_requested=true(), updated_at=_now)
)
EXPIRED = compiled(
    select(_TABLE)
    .where(_j.state == "leased", _j.lease_until <= _clock)
    .order_by(_j.lease_until)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
COUNTS = compiled(
    select(_j.kind, _j.state, func.count().label("jobs"))
    .where(or_(_LIVE, _j.state == "parked"))
    .group_by(_j.kind, _j.state)
)
