"""One leased job from claim to report: work under a lease, stop when told, report with the fence."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Protocol

from services.kernel import telemetry
from services.kernel.errors import (
    Conflict,
    DeadlineExceeded,
    Exhausted,
    Invalid,
    NotAllowed,
    NotFound,
    Refusal,
    Unavailable,
)
from services.runner.application.backoff import delays
from services.runner.application.lease import Lease
from services.runner.application.outcome import Completed, Dropped, GaveUp, Outcome, Stop
from services.runner.application.ports import Jobs, LeasedJob
from services.runner.application.reporting import offer
from services.runner.application.work import Begin
from services.runner.domain.failure import Code, Failed, fit_detail

_log = telemetry.get_logger("runner.job")


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. Defaults are the numbers of design/threads.md §0.9a."""

    heartbeat: float = 5.0
    lease: float = 15.0
    stop: float = 25.0
    """How long work may take to stop before it is given up; the owner waits 30."""
    report: float = 60.0
    """How long a result is offered to an owner that cannot be reached."""


class Doing(Protocol):
    """What is done for a job."""

    async def do(self, job: LeasedJob, begin: Begin) -> bytes:
        """The result as JSON; must stop soon after being cancelled."""
        ...

    def wind_down(self) -> None:
        """This runner stops soon: end at the next good moment."""
        ...

    @property
    def idle_seconds(self) -> float:
        """For how long there has been nothing to do; 0 where there is."""
        ...

    def make_room(self) -> None:
        """Somebody else could use the place: end, if there is nothing to do."""
        ...


class JobRun:
    """Runs one job. `drain()` asks it to stop because this runner stops."""

    def __init__(self, jobs: Jobs, work: Doing, job: LeasedJob, timing: Timing) -> None:
        self._jobs = jobs
        self._work = work
        self._job = job
        self._timing = timing
        self._lease = Lease(jobs, job, every=timing.heartbeat, lasts=timing.lease)

    def wind_down(self) -> None:
        """The work may end at a good moment, before it is stopped."""
        self._work.wind_down()

    @property
    def idle_seconds(self) -> float:
        """Of the work."""
        return self._work.idle_seconds

    def make_room(self) -> None:
        """Ends it if it has nothing to do."""
        self._work.make_room()

    def drain(self) -> None:
        """Stops the work; an inference goes back to the queue."""
        self._lease.ask_to_stop(Stop.DRAINED)

    async def run(self) -> None:
        """To the end; never raises but for a cancel of the runner itself."""
        keeping = asyncio.create_task(self._lease.keep())
        try:
            outcome = await self._outcome()
            await self._report(outcome)
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _outcome(self) -> Outcome:
        work = asyncio.create_task(self._work.do(self._job, self._begin))
        try:
            waits: set[asyncio.Future[Any]] = {work, self._lease.stop}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=self._timing.stop)
        except asyncio.CancelledError:
            work.cancel()
            raise
        return self._judge(work)

    def _judge(self, work: asyncio.Task[bytes]) -> Outcome:
        """What happened counts more than what was asked: work that ended before it could be stopped has a result."""
        if not work.done():
            _log.error("job.would_not_stop", job=self._job.id, seconds=self._timing.stop)
            return self._stopped("the work did not stop in time")
        if work.cancelled():
            return self._stopped("stopped")
        match work.exception():
            case None:
                return Completed(work.result())
            case Failed() as failed:
                return GaveUp(failed.code, failed.detail, failed.retryable)
            case Conflict() | NotFound():
                return Dropped()
            case Refusal() as refusal:
                return GaveUp(Code.RUNNER_STOPPED, f"{refusal.reason}: {refusal.message}", retryable=True)
            case fault:
                _log.error("job.bug", job=self._job.id, exc_info=fault)
                return GaveUp(Code.ACTION_FAILED, repr(fault))

    def _stopped(self, detail: str) -> Outcome:
        match self._lease.stop.result():
            case Stop.LOST:
                return Dropped()
            case Stop.CANCELLED:
                return GaveUp(Code.CANCELLED, detail)
            case Stop.DRAINED:
                return GaveUp(Code.RUNNER_STOPPED, detail, retryable=True)

    async def _begin(self) -> None:
        """StartExecution, asked again while the owner cannot be reached; the lease bounds it. If this process was
        stopped for a lease's time in between, the permission is worthless: no effect then."""
        for delay in delays():
            asked_at = time.monotonic()
            try:
                await self._jobs.start_execution(self._job)
            except (Unavailable, DeadlineExceeded) as refusal:
                _log.warning("job.start_not_heard", job=self._job.id, reason=refusal.reason)
                await asyncio.sleep(delay)
            else:
                if time.monotonic() - asked_at > self._timing.lease:
                    raise Conflict("LEASE_LOST", "this runner slept through its lease")
                return

    async def _report(self, outcome: Outcome) -> None:
        """Offers the outcome until it is taken or refused. A late one is refused by its fence, and dropped here."""
        if isinstance(outcome, Dropped):
            _log.warning("job.dropped", job=self._job.id, about=self._job.about, fence=self._job.fence)
            return
        await offer(lambda: self._send(outcome), self._job, self._timing.report)

    async def _send(self, outcome: Completed | GaveUp) -> None:
        match outcome:
            case Completed(result):
                await self._complete(result)
            case GaveUp(code, detail, retryable):
                _log.warning("job.failed", job=self._job.id, about=self._job.about, code=code, detail=detail)
                await self._jobs.fail(self._job, code, fit_detail(detail), retryable)

    async def _complete(self, result: bytes) -> None:
        """A result that the owner finds wrong or too large is a failure: left alone, the job would come again."""
        try:
            await self._jobs.complete(self._job, result)
        except (Invalid, Exhausted, NotAllowed) as refusal:
            detail = f"{refusal.reason}: {refusal.message}"
            _log.error("job.result_refused", job=self._job.id, about=self._job.about, detail=detail)
            await self._jobs.fail(self._job, Code.RESULT_REFUSED, fit_detail(detail), True)
