"""The metric treadle_jobs{service, kind, state} of sessions: what runners are scaled by."""

from __future__ import annotations

import asyncio
from typing import Final

from services.kernel import jobs, telemetry
from services.kernel.errors import Unavailable
from services.kernel.postgres import Database

_EVERY: Final = 5.0
_STATES: Final = ("queued", "leased")


async def count_jobs(database: Database) -> None:
    """A duty of its own, for ever; sessions of every adapter count as one kind."""
    while True:
        try:
            async with database.connection() as tx:
                counts = await jobs.counts(tx)
        except Unavailable:
            counts = {}
        for state in _STATES:
            total = sum(count for (_, in_state), count in counts.items() if in_state == state)
            telemetry.JOBS.labels("streaming", "session", state).set(total)
        await asyncio.sleep(_EVERY)
