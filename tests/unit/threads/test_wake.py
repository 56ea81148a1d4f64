"""A job that is committed between a runner's look at the queue and its waiting is not slept through."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from services.kernel.bus import Bus
from services.threads.adapters.wake import BusWake


class _Silent:
    """A bus that nobody listens to: what rings here rings in this process only."""

    async def ping(self, subject: str) -> None:
        return None


async def test_a_ring_after_the_look_ends_the_wait_at_once() -> None:
    wake = BusWake(cast(Bus, _Silent()))
    heard = wake.heard()
    await wake.committed(jobs=True)  # between the look and the wait
    async with asyncio.timeout(5):
        await wake.wait_for_jobs(heard, 60)


async def test_an_older_ring_ends_no_wait_and_a_newer_one_does() -> None:
    wake = BusWake(cast(Bus, _Silent()))
    await wake.committed(jobs=True)
    waiting: asyncio.Task[Any] = asyncio.create_task(wake.wait_for_jobs(wake.heard(), 60))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    await wake.committed(jobs=False)
    await asyncio.sleep(0.01)
    assert not waiting.done()
    await wake.committed(jobs=True)
    async with asyncio.timeout(5):
        await waiting
