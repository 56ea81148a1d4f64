"""The runs of workers in Postgres: transactions with leases, and the lists by which duties find their work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

from services.coordination.adapters import job_sql as sql
from services.coordination.adapters.rows import worker_of
from services.coordination.adapters.wake import Wake
from services.coordination.adapters.work import JOB_KIND, PostgresWork
from services.coordination.application.run_ports import Leased, Whose
from services.coordination.domain.worker import Worker
from services.kernel import jobs
from services.kernel.errors import NotFound
from services.kernel.jobs import Job
from services.kernel.postgres import Database, Row

_NOW: Final = timedelta(0)


class PostgresRunWork(PostgresWork):
    """Fills `RunWork`."""

    async def claimed(self, claim_id: str) -> Sequence[Leased]:
        """A repeat at the same moment waits here, in whatever process."""
        await jobs.hold_claim(self._tx, claim_id)
        return [_leased(row) for row in await self._tx.fetch(sql.CLAIMED, the_claim=claim_id)]

    async def lease_job(self, job_id: str, runner_id: str, claim_id: str, lease: timedelta) -> Job | None:
        """Compare and set."""
        return await jobs.lease(self._tx, job_id, runner_id=runner_id, claim_id=claim_id, lease_for=lease)

    async def keep_job(self, job_id: str, fence: int, lease: timedelta) -> tuple[datetime, bool]:
        """The fence decides."""
        return await jobs.heartbeat(self._tx, job_id, fence, lease)

    async def hold_job(self, job_id: str, fence: int) -> Job:
        """FOR UPDATE."""
        return await jobs.hold(self._tx, job_id, fence)

    async def lost_job(self, job_id: str, fence: int) -> bool:
        """FOR UPDATE."""
        return await self._tx.fetchval(sql.STILL_LOST, of_job=job_id, the_fence=fence) is not None

    async def requeue_job(self, job_id: str, reason: str) -> None:
        """At once."""
        await jobs.requeue(self._tx, job_id, _NOW, reason)
        self.jobs = True

    async def mark_late(self, tenant: str, coordinator_id: str, turn_id: str, since: datetime) -> int:
        """Ends only."""
        return await self._tx.execute(
            sql.MARK_LATE, of_tenant=tenant, of_coordinator=coordinator_id, of_turn=turn_id, since=since
        )

    async def hasten_wake(self, tenant: str, coordinator_id: str, at: datetime) -> None:
        """Where there is one."""
        await self._tx.execute(sql.HASTEN_WAKE, of_tenant=tenant, of_coordinator=coordinator_id, at=at)
        self.duties = True

    async def newest_report(self, worker: Worker) -> str | None:
        """Its version is in the worker's row."""
        text: str | None = await self._tx.fetchval(
            sql.REPORT, of_tenant=worker.tenant, of_worker=worker.id, of_version=worker.report_version
        )
        return text


class PostgresRunWorkshop:
    """Fills `RunWorkshop`."""

    def __init__(self, database: Database, wake: Wake) -> None:
        self._database = database
        self._wake = wake

    @asynccontextmanager
    async def work(self) -> AsyncIterator[PostgresRunWork]:
        """One transaction, then the pings."""
        async with self._database.transaction() as tx:
            work = PostgresRunWork(tx)
            yield work
        await work.tell(self._wake)


class PostgresRuns:
    """Fills `Runs`: each a statement of its own, by a partial index."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def whose(self, job_id: str) -> Whose:
        """By the job's subject."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(sql.WHOSE, of_job=job_id)
        if row is None:
            raise NotFound("JOB_NOT_FOUND", "there is no such job", job_id=job_id[:128])
        return _whose(row)

    async def queued(self, most: int) -> Sequence[Whose]:
        """Due ones."""
        async with self._database.connection() as tx:
            return [_whose(row) for row in await tx.fetch(sql.QUEUED, kind=JOB_KIND, most=most)]

    async def claimed(self, claim_id: str) -> Sequence[Leased]:
        """By the index of claims."""
        async with self._database.connection() as tx:
            return [_leased(row) for row in await tx.fetch(sql.CLAIMED, the_claim=claim_id)]

    async def lost(self, after: str, most: int) -> Sequence[Leased]:
        """By the database's clock."""
        async with self._database.connection() as tx:
            return [_leased(row) for row in await tx.fetch(sql.LOST, kind=JOB_KIND, after_one=after, most=most)]

    async def unwatched(self, seconds: float, after: str, most: int) -> Sequence[Leased]:
        """By the database's clock."""
        waited = timedelta(seconds=seconds)
        async with self._database.connection() as tx:
            rows = await tx.fetch(sql.UNWATCHED, kind=JOB_KIND, waited=waited, after_one=after, most=most)
        return [_leased(row) for row in rows]

    async def expired(self, now: datetime, most: int) -> Sequence[Whose]:
        """By the service's clock."""
        async with self._database.connection() as tx:
            return [_whose(row) for row in await tx.fetch(sql.EXPIRED, at=now, most=most)]

    async def unstopped(self, now: datetime, most: int) -> Sequence[Whose]:
        """By the service's clock."""
        async with self._database.connection() as tx:
            return [_whose(row) for row in await tx.fetch(sql.UNSTOPPED, at=now, most=most)]


def _whose(row: Row) -> Whose:
    return Whose(row["tenant"], row["coordinator_id"], row["worker_id"], row["job_id"], row["session_id"])


def _leased(row: Row) -> Leased:
    job = Job(**{name: row[f"j_{name}"] for name in sql.JOB_FIELDS})
    return Leased(worker_of(row), job)
