"""The metric treadle_jobs{service, kind, state} of workers: what runners are scaled by."""

from __future__ import annotations

import asyncio
from typing import Final

from services.coordination.adapters.work import JOB_KIND
from services.kernel import jobs, telemetry
from services.kernel.errors import Unavailable
from services.kernel.postgres import Database

_EVERY: Final = 5.0
_STATES: Final = ("queued", "leased")


async def count_jobs(database: Database) -> None:
    """A duty of its own, for ever; a database that is away is tried again."""
    while True:
        try:
            async with database.connection() as tx:
                counts = await jobs.counts(tx)
        except Unavailable:
            counts = {}
        for state in _STATES:
            telemetry.JOBS.labels("coordination", JOB_KIND, state).set(counts.get((JOB_KIND, state), 0))
        await asyncio.sleep(_EVERY)
