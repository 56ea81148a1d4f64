"""Jobs: a row is the only truth (design/threads.md §0.9). Leases on the database's clock, fencing tokens, parking.

Functions over a transaction: what a job means, and which row is locked before it, is its owner's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import asyncpg

from services.kernel import jobs_sql as sql
from services.kernel.errors import Conflict, NotFound, Unavailable
from services.kernel.postgres import Row, Tx

LEASE: Final = timedelta(seconds=15)
HEARTBEAT_SECONDS: Final = 5.0
ATTEMPTS: Final = 3
"""A job that lost its runner this often is parked."""


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
        sql.ENQUEUE,
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
    return [_job(row) for row in await tx.fetch(sql.CANDIDATES, kinds=list(kinds), most=most)]


async def lease(tx: Tx, job_id: str, *, runner_id: str, claim_id: str, lease_for: timedelta = LEASE) -> Job | None:
    """Leases a queued job: fence and attempt rise by one. None when it is not queued any more."""
    row = await tx.fetchrow(sql.LEASE, job_id=job_id, the_runner=runner_id, the_claim=claim_id, lease=lease_for)
    return None if row is None else _job(row)


async def hold_claim(tx: Tx, claim_id: str) -> None:
    """Until the end of the transaction nobody else leases by this claim, in whatever process: without it, a claim and
    its repeat at one moment both find nothing leased and lease twice (PUB08). Take it before any row's lock.
    Unavailable CONTENDED where the other one takes longer than a lock is waited for."""
    try:
        await tx.fetchval(sql.HOLD_CLAIM, the_claim=claim_id)
    except asyncpg.LockNotAvailableError as busy:
        raise Unavailable("CONTENDED", "this claim is being answered already: repeat it") from busy


async def claimed(tx: Tx, claim_id: str) -> list[Job]:
    """What a claim_id holds already, held as `hold_claim` says: a repeated claim answers the same leases, and where
    there are none, what this transaction leases by it is all that it gets."""
    await hold_claim(tx, claim_id)
    return [_job(row) for row in await tx.fetch(sql.CLAIMED, the_claim=claim_id)]


async def heartbeat(tx: Tx, job_id: str, fence: int, lease_for: timedelta = LEASE) -> tuple[datetime, bool]:
    """Keeps a lease; answers its end and whether to cancel. Conflict LEASE_LOST for a late or foreign fence."""
    row = await tx.fetchrow(sql.HEARTBEAT, job_id=job_id, the_fence=fence, lease=lease_for)
    if row is None:
        raise await _lost(tx, job_id, fence)
    return row["lease_until"], row["cancel_requested"]


async def find(tx: Tx, job_id: str) -> Job:
    """A job, unlocked: to learn which row to lock before it. NotFound JOB_NOT_FOUND."""
    row = await tx.fetchrow(sql.FIND, job_id=job_id)
    if row is None:
        raise NotFound("JOB_NOT_FOUND", "there is no such job", job_id=job_id)
    return _job(row)


async def lock(tx: Tx, job_id: str) -> Job | None:
    """A job, locked, whoever has its lease; None where there is none."""
    row = await tx.fetchrow(sql.LOCK, job_id=job_id)
    return None if row is None else _job(row)


async def hold(tx: Tx, job_id: str, fence: int) -> Job:
    """Locks a job whose lease the caller still has. Conflict LEASE_LOST otherwise."""
    row = await tx.fetchrow(sql.HOLD, job_id=job_id, the_fence=fence)
    if row is None:
        raise await _lost(tx, job_id, fence)
    return _job(row)


async def start(tx: Tx, job_id: str, fence: int) -> None:
    """Marks that effects follow: lost from here on, the job is not run again by itself."""
    if await tx.execute(sql.START, job_id=job_id, the_fence=fence) == 0:
        raise await _lost(tx, job_id, fence)


async def end(tx: Tx, job_id: str, state: str, reason: str | None = None) -> None:
    """Ends a live job: `done`, `failed`, `cancelled` or `parked`. The caller holds it."""
    await tx.execute(sql.END, job_id=job_id, to_state=state, why=reason)


async def requeue(tx: Tx, job_id: str, delay: timedelta, reason: str) -> None:
    """Gives a leased job back to the queue after a delay; its fence is worthless from now on."""
    await tx.execute(sql.REQUEUE, job_id=job_id, delay=delay, why=reason)


async def cancel(tx: Tx, tenant: str, subject: str, reason: str) -> int:
    """Cancels a subject's live job at once: a queued one is never claimed, a leased one is fenced off."""
    return len(await tx.fetch(sql.CANCEL, the_tenant=tenant, the_subject=subject, why=reason))


async def enqueue_many(tx: Tx, tenant: str, made: Sequence[Mapping[str, Any]]) -> None:
    """As `enqueue` for many at once; each has id, kind, subject and payload."""
    columns = ["id", "kind", "subject", "payload", "tenant", "state"]
    records = [(*(one[name] for name in columns[:4]), tenant, "queued") for one in made]
    await tx.raw.copy_records_to_table("jobs", records=records, columns=columns)


async def cancel_many(tx: Tx, tenant: str, subjects: Sequence[str], reason: str) -> int:
    """As `cancel` for many subjects at once."""
    return await tx.execute(sql.CANCEL_MANY, the_tenant=tenant, the_subjects=list(subjects), why=reason)


async def request_cancel(tx: Tx, tenant: str, subject: str) -> int:
    """Asks the runner of a leased job to stop: its next heartbeat says so."""
    return await tx.execute(sql.REQUEST_CANCEL, the_tenant=tenant, the_subject=subject)


async def expired(tx: Tx, most: int) -> list[Job]:
    """Leased jobs whose lease ended, locked, skipping what another sweeper holds."""
    return [_job(row) for row in await tx.fetch(sql.EXPIRED, most=most)]


async def counts(tx: Tx) -> dict[tuple[str, str], int]:
    """Live and parked jobs by (kind, state), for the metric treadle_jobs."""
    return {(row["kind"], row["state"]): row["jobs"] for row in await tx.fetch(sql.COUNTS)}


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
