"""Holds the lease of one job while its work runs (design/threads.md §0.9). Knows the clock, not the work.

The owner's row is the truth: it may say cancel or lost. When the owner cannot be asked for a whole lease, the lease
counts as lost. Time is the monotonic clock, which goes on while the process is stopped (SIGSTOP).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Protocol

from services.kernel import telemetry
from services.kernel.errors import Conflict, NotFound, Refusal
from services.runner.application.outcome import Stop
from services.runner.application.ports import LeasedJob

_log = telemetry.get_logger("runner.lease")


class Heartbeats(Protocol):
    """Where a lease is kept."""

    async def heartbeat(self, job: LeasedJob) -> bool:
        """Keeps the lease; True means that the work is not wanted any more."""
        ...


class Lease:
    """One lease. `stop` is answered when the work must end; `keep()` runs until cancelled or lost."""

    def __init__(self, jobs: Heartbeats, job: LeasedJob, *, every: float, lasts: float) -> None:
        """`every`: seconds between heartbeats; `lasts`: seconds that the owner gives for each."""
        self._jobs = jobs
        self._job = job
        self._every = every
        self._lasts = lasts
        self._kept_at = time.monotonic()
        self._soon = asyncio.Event()
        self.stop: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()

    @property
    def over(self) -> bool:
        """Whether a whole lease has passed since the owner last confirmed it."""
        return time.monotonic() - self._kept_at > self._lasts

    def ask_to_stop(self, why: Stop) -> None:
        """The first reason stands."""
        if not self.stop.done():
            self.stop.set_result(why)

    def beat_soon(self) -> None:
        """The next heartbeat has something to say: it goes at once."""
        self._soon.set()

    async def keep(self) -> None:
        """Heartbeats. Goes on after a cancel: stopping takes time, and its report needs the lease."""
        while True:
            await self._until_the_next()
            asked_at = time.monotonic()
            try:
                if await self._jobs.heartbeat(self._job):
                    self.ask_to_stop(Stop.CANCELLED)
            except (Conflict, NotFound) as refusal:
                _log.warning("lease.lost", job=self._job.id, fence=self._job.fence, reason=refusal.reason)
                self.ask_to_stop(Stop.LOST)
                return
            except Refusal as refusal:
                _log.warning("lease.heartbeat_failed", job=self._job.id, reason=refusal.reason)
                if self.over:
                    self.ask_to_stop(Stop.LOST)
                    return
            else:
                self._kept_at = asked_at

    async def _until_the_next(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._every):
                await self._soon.wait()
        self._soon.clear()
