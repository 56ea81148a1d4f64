"""The metric treadle_jobs{service, kind, state}: what runners are scaled by."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Final

from services.kernel import jobs, telemetry
from services.kernel.errors import Unavailable
from services.kernel.postgres import Database
from services.threads.application.ports import JobKind

_EVERY: Final = 5.0
_STATES: Final = ("queued", "leased", "parked")


class JobGauges:
    """A duty of its own."""

    def __init__(self, database: Database, service: str) -> None:
        self._database = database
        self._service = service

    async def run(self) -> None:
        """For ever, every five seconds; a database that is away is tried again."""
        while True:
            try:
                async with self._database.connection() as tx:
                    counts = await jobs.counts(tx)
            except Unavailable:
                counts = {}
            for kind, state in product(JobKind, _STATES):
                telemetry.JOBS.labels(self._service, kind, state).set(counts.get((kind, state), 0))
            await asyncio.sleep(_EVERY)
