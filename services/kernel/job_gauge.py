"""The metric treadle_jobs{service, kind, state}: what runners are scaled by."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from services.kernel import jobs, telemetry
from services.kernel.errors import Unavailable
from services.kernel.postgres import Database

_EVERY: Final = 5.0
_STATES: Final = ("queued", "leased", "parked")


async def count_jobs(
    database: Database, service: str, kinds: Iterable[str], kind_of: Callable[[str], str] = str
) -> None:
    """A duty of its own, for ever; a database that is away counts as no jobs and is tried again. `kind_of`: the shown
    kind of a stored one."""
    shown = list(kinds)
    while True:
        try:
            async with database.connection() as tx:
                counts = await jobs.counts(tx)
        except Unavailable:
            counts = {}
        for kind in shown:
            for state in _STATES:
                total = sum(n for (stored, now), n in counts.items() if now == state and kind_of(stored) == kind)
                telemetry.JOBS.labels(service, kind, state).set(total)
        await asyncio.sleep(_EVERY)
