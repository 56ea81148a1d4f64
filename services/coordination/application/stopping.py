"""How a worker is stopped: at once where no runner ever had it, else by asking its runner, which has half a minute."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from services.coordination.application.ending import End, end_worker
from services.coordination.application.work import Work
from services.coordination.domain.worker import Coordinator, Kind, Reason, Worker

STOP_WITHIN: Final = timedelta(seconds=30)
"""A runner that has not ended a worker by then is not waited for (application/forcing.py)."""


async def ask_stop(
    work: Work, coordinator: Coordinator, worker: Worker, reason: Reason, by: str, now: datetime
) -> Worker:
    """Stops a worker; both rows are locked. One that has ended, or is to stop already, stays as it is: the first reason
    counts. `reason` is cancelled, timeout or budget_exhausted. One that has had a runner and waits for another may have
    said something in its session: it is ended, with that, as soon as it is read (application/forcing.py)."""
    if worker.ended or worker.stop_reason:
        return worker
    asked = replace(worker, stop_reason=reason.value, stop_by=now + STOP_WITHIN, updated_at=now)
    job = await work.job(worker.job_id) if worker.kind is Kind.SUBAGENT and worker.job_id else None
    if job is not None and job.state == "queued" and worker.launches:
        asked = replace(asked, stop_by=now)
    elif job is None or job.state != "leased":
        return await end_worker(work, coordinator, asked, End(reason, stop_session=True), by, now)
    await work.save_worker(asked)
    await work.request_cancel(asked)
    await work.fact(asked, "cancel_requested", by, now)
    return asked


async def stop_all(
    work: Work, coordinator: Coordinator, reason: Reason, by: str, now: datetime, turn_id: str | None = None
) -> None:
    """Stops a coordinator's managed workers (of one turn, where it is named), and, where they are cancelled, its
    registered ones."""
    for worker in await work.live_workers(coordinator.tenant, coordinator.session_id, turn_id):
        if worker.kind is Kind.SUBAGENT or reason is Reason.CANCELLED:
            await ask_stop(work, coordinator, worker, reason, by, now)
