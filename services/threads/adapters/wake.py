"""Wakes relays and runners' long-polls after a commit, here at once and elsewhere by a core-NATS ping."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from services.kernel.bus import Bus
from services.kernel.outbox import wake_subject

JOBS_SUBJECT: Final = "wake.jobs.threads"


class BusWake:
    """See application.ports.Wake. `run` is a duty of its own."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._waiters: set[asyncio.Future[None]] = set()
        self._rings = 0

    async def run(self) -> None:
        """Passes pings of other processes on to the long-polls of this one, for ever."""
        async with self._bus.listen(JOBS_SUBJECT) as bell:
            while True:
                if await bell.wait(60):
                    self._ring()

    async def committed(self, *, jobs: bool) -> None:
        """Pings are never waited for by the next statement of anybody."""
        if jobs:
            self._ring()
            await self._bus.ping(JOBS_SUBJECT)
        await self._bus.ping(wake_subject("threads"))

    def heard(self) -> int:
        """Rings so far."""
        return self._rings

    async def wait_for_jobs(self, heard: int, seconds: float) -> None:
        """Until a ping that came after `heard` was taken, or the time."""
        if self._rings != heard:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await waiter
        finally:
            self._waiters.discard(waiter)

    def _ring(self) -> None:
        self._rings += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
