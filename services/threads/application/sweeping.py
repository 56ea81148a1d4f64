"""The two background duties of threads: ending expired leases and firing timers. Any number of replicas
run them.
"""

from __future__ import annotations

import asyncio
from typing import Final

from services.kernel.clock import Clock
from services.kernel.errors import Refusal, Unavailable
from services.kernel.telemetry import get_logger
from services.threads.application.commands import Call, Commands, has_jobs
from services.threads.application.holding import Held, HigherNeeded
from services.threads.application.ports import Job, JobKind, Store, Wake, Work
from services.threads.application.runners import backoff
from services.threads.domain import commands as c
from services.threads.domain.effects import Effect
from services.threads.domain.events import Actor, ActorKind
from services.threads.domain.timing import Timing

_log = get_logger("threads.sweeper")
_MOST: Final = 20
"""Jobs or timers of one transaction."""
SWEEPER: Final = Actor(ActorKind.SERVICE, "threads.sweeper")
CLOCK: Final = Actor(ActorKind.SERVICE, "threads.clock")


class Sweeper:
    """Ends leases whose time is over (section 0.9) and fires timers that are due (section 0.2)."""

    def __init__(self, store: Store, wake: Wake, commands: Commands, clock: Clock, timing: Timing) -> None:
        self._store = store
        self._wake = wake
        self._commands = commands
        self._clock = clock
        self._timing = timing

    async def run(self, every: float) -> None:
        """For ever, every so many seconds; at once again while there is more."""
        while True:
            try:
                found = await self.sweep_leases() + await self.fire_timers() + await self.end_snoozes()
            except Unavailable as refusal:
                _log.warning("sweeper.waits", reason=refusal.reason)
                found = 0
            if found < _MOST:
                await asyncio.sleep(every)

    async def sweep_leases(self) -> int:
        """One round; answers how many leases were ended."""
        try:
            return await self._sweep_leases()
        except HigherNeeded:
            return 0  # the family changed while its rows were being locked: the next round sees it as it is

    async def _sweep_leases(self) -> int:
        ended, caused = 0, tuple[Effect, ...]()
        requeued = False
        async with self._store.work() as work:
            for job in await work.expired(_MOST):
                held = await self._commands.holding.try_hold(work, job.tenant, job.thread_id)
                if held is None:
                    continue
                again, command = self._verdict(job)
                await self._settle(work, job, again=again)
                try:
                    call = Call(job.tenant, SWEEPER)
                    more = await self._tell(work, call, held, command)
                except Refusal as refusal:
                    _log.error("sweeper.stray_job", job=job.id, thread=job.thread_id, reason=refusal.reason)
                    continue
                _log.warning("job.lost", job=job.id, thread=job.thread_id, attempt=job.attempt, again=again)
                ended, caused, requeued = ended + 1, (*caused, *more), requeued or again
        if ended:
            await self._wake.committed(jobs=requeued or has_jobs(caused))
        return ended

    async def fire_timers(self) -> int:
        """One round; answers how many timers were fired."""
        try:
            return await self._fire_timers()
        except HigherNeeded:
            return 0

    async def _fire_timers(self) -> int:
        fired = 0
        async with self._store.work() as work:
            for tenant, thread in await work.due(self._clock.now(), _MOST):
                held = await self._commands.holding.try_hold(work, tenant, thread.thread_id)
                if held is None:
                    continue
                try:
                    await self._commands.decided(work, Call(tenant, CLOCK), held.thread, c.Timeout(), held.above)
                except Refusal as refusal:
                    _log.error("timer.stray", thread=thread.thread_id, reason=refusal.reason)
                    await work.clear_timer(tenant, thread.thread_id)
                fired += 1
        if fired:
            await self._wake.committed(jobs=False)
        return fired

    async def end_snoozes(self) -> int:
        """One round; answers how many threads are back. Each one is an event, so that open inboxes hear of it."""
        async with self._store.work() as work:
            back = await work.snoozed(self._clock.now(), _MOST)
            for tenant, thread in back:
                await self._commands.decided(work, Call(tenant, CLOCK), thread, c.Resurface())
        if back:
            await self._wake.committed(jobs=False)
        return len(back)

    async def _tell(self, work: Work, call: Call, held: Held, command: c.Command | None) -> tuple[Effect, ...]:
        if command is None:
            return ()
        return (await self._commands.decided(work, call, held.thread, command, held.above))[1]

    def _verdict(self, job: Job) -> tuple[bool, c.Command | None]:
        """Whether the job runs again, and what its thread is told, if anything."""
        left = job.attempt < self._timing.inference_attempts
        if job.kind is JobKind.INFERENCE:
            return left, c.LoseInference(retry=left)
        if job.kind is JobKind.CLEANUP:
            again = left and not job.started
            return again, None if again else c.FinishCleanup(False, "runner_lost" if job.started else "job_parked")
        if job.started and job.payload.get("idempotent") is not True:
            return False, c.LoseExecution()
        return left, c.LoseExecution(parked=not left)

    async def _settle(self, work: Work, job: Job, *, again: bool) -> None:
        if again:
            await work.requeue(job.id, backoff(self._timing, job.attempt), "lease_expired")
        elif job.attempt >= self._timing.inference_attempts:
            await work.end_job(job.id, "parked", "lost its runner too often")
        else:
            await work.end_job(job.id, "failed", "runner_lost")
