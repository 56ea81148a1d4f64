"""Jobs: a row is the only truth (design/threads.md §0.9). Leases on the database's clock, fencing tokens, parking.

Functions over a transaction: what a job means, and which row is locked before it, is its owner's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

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

from services.kernel.errors import Conflict, NotFound
from services.kernel.postgres import Row, Tx, compiled

LEASE: Final = timedelta(seconds=15)
HEARTBEAT_SECONDS: Final = 5.0
ATTEMPTS: Final = 3
"""A job that lost its runner this often is parked."""

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

_ENQUEUE = compiled(
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
_CANDIDATES = compiled(
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
_LEASE = compiled(
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
_CLAIMED = compiled(
    select(_TABLE)
    .where(_j.claim_id == bindparam("the_claim"), _j.state == "leased", _j.lease_until > _clock)
    .order_by(_j.id)
)
_HEARTBEAT = compiled(
    update(_TABLE)
    .where(_HELD)
    .values(lease_until=_clock + bindparam("lease", type_=Interval), updated_at=_now)
    .returning(_j.lease_until, _j.cancel_requested)
)
_FIND = compiled(select(_TABLE).where(_j.id == bindparam("job_id")))
_HOLD = compiled(select(_TABLE).where(_HELD).with_for_update())
_START = compiled(update(_TABLE).where(_HELD).values(started=true(), updated_at=_now))
_END = compiled(
    update(_TABLE)
    .where(_j.id == bindparam("job_id"), _LIVE)
    .values(
        state=bindparam("to_state"),
        reason=bindparam("why"),
        lease_until=null(),
        updated_at=_now,
    )
)
_REQUEUE = compiled(
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
_CANCEL = compiled(
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
_CANCEL_MANY = compiled(
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
_REQUEST_CANCEL = compiled(
    update(_TABLE)
    .where(_j.tenant == bindparam("the_tenant"), _j.subject == bindparam("the_subject"), _j.state == "leased")
    .values(cancel_requested=true(), updated_at=_now)
)
_EXPIRED = compiled(
    select(_TABLE)
    .where(_j.state == "leased", _j.lease_until <= _clock)
    .order_by(_j.lease_until)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
_COUNTS = compiled(
    select(_j.kind, _j.state, func.count().label("jobs"))
    .where(or_(_LIVE, _j.state == "parked"))
    .group_by(_j.kind, _j.state)
)


@dataclass(frozen=True, slots=True)
class Job:
    """A job's row."""

    tenant: str
    id: str
    kind: str
    subject: str
    state: str
    payload: dict[str, Any]
    attempt: int
    fence: int
    started: bool
    cancel_requested: bool
    lease_until: datetime | None
    runner_id: str | None
    reason: str | None


async def enqueue(
    tx: Tx,
    *,
    tenant: str,
    id: str,
    kind: str,
    subject: str,
    payload: dict[str, Any],
    priority: int = 100,
    run_at: datetime | None = None,
) -> None:
    """Writes a job in the command's transaction. `priority`: lower first. A live job of the same subject is a bug
    (unique violation): end or cancel it first."""
    await tx.execute(
        _ENQUEUE,
        tenant=tenant,
        id=id,
        kind=kind,
        subject=subject,
        payload=payload,
        priority=priority,
        run_at=run_at,
    )


async def candidates(tx: Tx, kinds: Sequence[str], most: int) -> list[Job]:
    """Queued jobs that are due, locked, skipping those of others. Wait for no other lock while holding them."""
    return [_job(row) for row in await tx.fetch(_CANDIDATES, kinds=list(kinds), most=most)]


async def lease(tx: Tx, job_id: str, *, runner_id: str, claim_id: str, lease_for: timedelta = LEASE) -> Job | None:
    """Leases a queued job: fence and attempt rise by one. None when it is not queued any more."""
    row = await tx.fetchrow(_LEASE, job_id=job_id, the_runner=runner_id, the_claim=claim_id, lease=lease_for)
    return None if row is None else _job(row)


async def claimed(tx: Tx, claim_id: str) -> list[Job]:
    """What a claim_id holds already: a repeated claim answers the same leases."""
    return [_job(row) for row in await tx.fetch(_CLAIMED, the_claim=claim_id)]


async def heartbeat(tx: Tx, job_id: str, fence: int, lease_for: timedelta = LEASE) -> tuple[datetime, bool]:
    """Keeps a lease; answers its end and whether to cancel. Conflict LEASE_LOST for a late or foreign fence."""
    row = await tx.fetchrow(_HEARTBEAT, job_id=job_id, the_fence=fence, lease=lease_for)
    if row is None:
        raise await _lost(tx, job_id, fence)
    return row["lease_until"], row["cancel_requested"]


async def find(tx: Tx, job_id: str) -> Job:
    """A job, unlocked: to learn which row to lock before it. NotFound JOB_NOT_FOUND."""
    row = await tx.fetchrow(_FIND, job_id=job_id)
    if row is None:
        raise NotFound("JOB_NOT_FOUND", "there is no such job", job_id=job_id)
    return _job(row)


async def hold(tx: Tx, job_id: str, fence: int) -> Job:
    """Locks a job whose lease the caller still has. Conflict LEASE_LOST otherwise."""
    row = await tx.fetchrow(_HOLD, job_id=job_id, the_fence=fence)
    if row is None:
        raise await _lost(tx, job_id, fence)
    return _job(row)


async def start(tx: Tx, job_id: str, fence: int) -> None:
    """Marks that effects follow: lost from here on, the job is not run again by itself."""
    if await tx.execute(_START, job_id=job_id, the_fence=fence) == 0:
        raise await _lost(tx, job_id, fence)


async def end(tx: Tx, job_id: str, state: str, reason: str | None = None) -> None:
    """Ends a live job: `done`, `failed`, `cancelled` or `parked`. The caller holds it."""
    await tx.execute(_END, job_id=job_id, to_state=state, why=reason)


async def requeue(tx: Tx, job_id: str, delay: timedelta, reason: str) -> None:
    """Gives a leased job back to the queue after a delay; its fence is worthless from now on."""
    await tx.execute(_REQUEUE, job_id=job_id, delay=delay, why=reason)


async def cancel(tx: Tx, tenant: str, subject: str, reason: str) -> int:
    """Cancels a subject's live job at once: a queued one is never claimed, a leased one is fenced off."""
    return len(await tx.fetch(_CANCEL, the_tenant=tenant, the_subject=subject, why=reason))


async def enqueue_many(tx: Tx, tenant: str, made: Sequence[Mapping[str, Any]]) -> None:
    """As `enqueue` for many at once; each has id, kind, subject and payload."""
    columns = ["id", "kind", "subject", "payload", "tenant", "state"]
    records = [(*(one[name] for name in columns[:4]), tenant, "queued") for one in made]
    await tx.raw.copy_records_to_table("jobs", records=records, columns=columns)


async def cancel_many(tx: Tx, tenant: str, subjects: Sequence[str], reason: str) -> int:
    """As `cancel` for many subjects at once."""
    return await tx.execute(_CANCEL_MANY, the_tenant=tenant, the_subjects=list(subjects), why=reason)


async def request_cancel(tx: Tx, tenant: str, subject: str) -> int:
    """Asks the runner of a leased job to stop: its next heartbeat says so."""
    return await tx.execute(_REQUEST_CANCEL, the_tenant=tenant, the_subject=subject)


async def expired(tx: Tx, most: int) -> list[Job]:
    """Leased jobs whose lease ended, locked, skipping what another sweeper holds."""
    return [_job(row) for row in await tx.fetch(_EXPIRED, most=most)]


async def counts(tx: Tx) -> dict[tuple[str, str], int]:
    """Live and parked jobs by (kind, state), for the metric treadle_jobs."""
    return {(row["kind"], row["state"]): row["jobs"] for row in await tx.fetch(_COUNTS)}


async def _lost(tx: Tx, job_id: str, fence: int) -> Conflict:
    job = await find(tx, job_id)
    return Conflict(
        "LEASE_LOST",
        "the lease of this job is not yours any more: drop the work",
        job_id=job_id,
        fence=fence,
        state=job.state,
    )


def _job(row: Row) -> Job:
    return Job(
        tenant=row["tenant"],
        id=row["id"],
        kind=row["kind"],
        subject=row["subject"],
        state=row["state"],
        payload=row["payload"],
        attempt=row["attempt"],
        fence=row["fence"],
        started=row["started"],
        cancel_requested=row["cancel_requested"],
        lease_until=row["lease_until"],
        runner_id=row["runner_id"],
        reason=row["reason"],
    )
