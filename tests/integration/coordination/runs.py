"""Runs of workers, as a test makes them happen in the database without a runner."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.application.ending import SYSTEM, End, end_worker
from services.coordination.domain.worker import Reason, Status, Worker
from services.kernel import jobs
from services.kernel.postgres import Database
from tests.integration.coordination.rows import TENANT


async def taken(workshop: PostgresWorkshop, database: Database, session: str, name: str) -> Worker:
    """A runner takes the worker: its job is leased, it runs."""
    now = datetime.now(UTC)
    async with workshop.work() as work:
        await work.coordinator(TENANT, session)
        worker = await work.worker(TENANT, session, name)
        assert worker is not None
        running = replace(
            worker, status=Status.RUNNING, launches=worker.launches + 1, started_at=now, billed_at=now, updated_at=now
        )
        await work.save_worker(running)
    async with database.transaction() as tx:
        lease = timedelta(minutes=5)
        leased = await jobs.lease(tx, worker.job_id, runner_id="r", claim_id=worker.id, lease_for=lease)
    assert leased is not None
    return running


async def ended(workshop: PostgresWorkshop, session: str, name: str, reason: Reason, text: str | None = None) -> Worker:
    """The worker ends."""
    async with workshop.work() as work:
        coordinator = await work.coordinator(TENANT, session)
        worker = await work.worker(TENANT, session, name)
        assert coordinator is not None
        assert worker is not None
        return await end_worker(work, coordinator, worker, End(reason, text), SYSTEM, datetime.now(UTC))
