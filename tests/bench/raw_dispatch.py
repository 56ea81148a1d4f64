"""The raw limit of a dispatch: the statement that leases a job's row, on asyncpg, woken by a core-NATS ping, and no
service around it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from secrets import token_hex
from typing import Final

from services.kernel import jobs
from services.kernel.bus import Bell, Bus
from services.kernel.postgres import Database
from tests.bench.dispatch import SETTLE_SECONDS

_SUBJECT: Final = "bench.jobs"
_LOST_SECONDS: Final = 20


class NoJob(Exception):
    """The row that was written was not there to be leased, or no ping came."""


class RawDispatch:
    """A waiter and a writer on connections of their own."""

    def __init__(self, database: Database, writer: Bus, bell: Bell) -> None:
        self._database = database
        self._writer = writer
        self._bell = bell

    async def run(self, count: int, warm: int) -> list[float]:
        """Milliseconds from a row's commit to its lease, one after the other; the first `warm` are not counted."""
        taken = []
        for number in range(count):
            job_id = f"job_{token_hex(12)}"
            waiter = asyncio.create_task(self._leased(job_id))
            await asyncio.sleep(SETTLE_SECONDS)  # as the service is given: a processor that idled wakes no faster here
            async with self._database.transaction() as tx:
                await jobs.enqueue(tx, tenant="bench", id=job_id, kind="inference", subject=job_id, payload={})
            committed = time.perf_counter()
            await self._writer.ping(_SUBJECT)
            at = await waiter
            if number >= warm:
                taken.append((at - committed) * 1000)
        return taken

    async def _leased(self, job_id: str) -> float:
        if not await self._bell.wait(_LOST_SECONDS):
            raise NoJob("no ping came")
        async with self._database.connection() as tx:
            if await jobs.lease(tx, job_id, runner_id="bench", claim_id=job_id) is None:
                raise NoJob(job_id)
        return time.perf_counter()


@asynccontextmanager
async def raw_dispatch(url: str, nats_url: str) -> AsyncIterator[RawDispatch]:
    """On a database with the table of jobs; ends with the context."""
    async with AsyncExitStack() as stack:
        database = await Database.open(url, "bench raw dispatch", min_size=2, max_size=2)
        stack.push_async_callback(database.close)
        writer, waiter = await Bus.connect(nats_url, "bench writer"), await Bus.connect(nats_url, "bench waiter")
        stack.push_async_callback(writer.close)
        stack.push_async_callback(waiter.close)
        bell = await stack.enter_async_context(waiter.listen(_SUBJECT))
        yield RawDispatch(database, writer, bell)
