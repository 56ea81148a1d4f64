"""One leased worker from claim to report. A runner that stops leaves the worker to another one (C.3)."""

from __future__ import annotations

import asyncio
from typing import Any

from services.kernel import telemetry
from services.kernel.errors import Unauthenticated
from services.runner.application.job_run import Timing
from services.runner.application.lease import Lease
from services.runner.application.outcome import Stop
from services.runner.application.ports import LeasedJob
from services.runner.application.reporting import offer
from services.runner.application.workers.errand import Errand
from services.runner.application.workers.ports import Progress, WorkerJobs, WorkerSessions
from services.runner.domain.failure import Failed
from services.runner.domain.worker import Reason, WorkerEnd

_log = telemetry.get_logger("runner.worker")


class WorkerRun:
    """Implements claiming.Run."""

    def __init__(self, jobs: WorkerJobs, sessions: WorkerSessions, job: LeasedJob, timing: Timing) -> None:
        self._jobs = jobs
        self._sessions = sessions
        self._job = job
        self._timing = timing
        self._errand: Errand | None = None
        self._lease = Lease(self, job, every=timing.heartbeat, lasts=timing.lease)

    def wind_down(self) -> None:
        """The worker is left to another runner, at once: its session may work on meanwhile."""
        self.drain()

    @property
    def idle_seconds(self) -> float:
        """A worker is never idle: it ends."""
        return 0.0

    def make_room(self) -> None:
        """It cannot."""

    def drain(self) -> None:
        """The worker is left to another runner."""
        self._lease.ask_to_stop(Stop.DRAINED)

    async def run(self) -> None:
        """To the end."""
        keeping = asyncio.create_task(self._lease.keep(), name="worker.lease")
        try:
            end = await self._outcome()
            if end is not None:
                _log.info("worker.ended", job=self._job.id, reason=end.reason, detail=end.detail)
                await offer(lambda: self._jobs.end(self._job, end), self._job, self._timing.report)
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def heartbeat(self, job: LeasedJob) -> bool:
        """For the lease, and for the budget of whoever pays: with what the worker has cost by now."""
        if self._errand is not None:
            await self._errand.count()
        return await self._jobs.beat(job, self._progress)

    @property
    def _progress(self) -> Progress:
        return Progress() if self._errand is None else self._errand.progress

    async def _outcome(self) -> WorkerEnd | None:
        """None: the worker is not ours any more."""
        try:
            order = self._jobs.order(self._job)
        except Failed as failed:
            return WorkerEnd(Reason.LAUNCH_FAILED, detail=failed.detail)
        errand = self._errand = Errand(self._sessions, order, self._job.attempt, self._lease.beat_soon)
        working = asyncio.create_task(errand.run(), name="worker.errand")
        try:
            waits: set[asyncio.Future[Any]] = {working, self._lease.stop}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                return await self._stopped(errand, working)
            if isinstance(working.exception(), Unauthenticated):
                await self._give_back(errand)
                return None
            return _judged(self._job, working)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    async def _stopped(self, errand: Errand, working: asyncio.Task[WorkerEnd]) -> WorkerEnd | None:
        match self._lease.stop.result():
            case Stop.LOST:
                _log.warning("worker.dropped", job=self._job.id, fence=self._job.fence)
                return None
            case Stop.DRAINED:
                await self._give_back(errand)
                return None
            case Stop.CANCELLED:
                return await self._cancelled(errand, working)

    async def _give_back(self, errand: Errand) -> None:
        await offer(lambda: self._jobs.give_back(self._job, errand.progress), self._job, self._timing.heartbeat)

    async def _cancelled(self, errand: Errand, working: asyncio.Task[WorkerEnd]) -> WorkerEnd:
        """What was said by then is kept; a result that was faster counts. An agent that does not stop in time is the
        service's to deal with."""
        stopping = asyncio.create_task(errand.stop(), name="worker.stop")
        try:
            await asyncio.wait({working}, timeout=self._timing.stop)
        finally:
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)
        if working.done():
            return _judged(self._job, working)
        return WorkerEnd(Reason.CANCELLED, tokens=errand.progress.tokens, detail="the agent did not stop in time")


def _judged(job: LeasedJob, working: asyncio.Task[WorkerEnd]) -> WorkerEnd:
    if (fault := working.exception()) is None:
        return working.result()
    _log.error("worker.bug", job=job.id, exc_info=fault)
    return WorkerEnd(Reason.FAILED, detail=repr(fault))
