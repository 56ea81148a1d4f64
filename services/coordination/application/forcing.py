"""Stops that were not heeded in their time: the service ends such workers itself, with what their agents had said, and
has their sessions aborted (C.3)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Final

from services.coordination.application.ending import SYSTEM, end_worker
from services.coordination.application.last_words import LastWords, Words
from services.coordination.application.persevering import Persevering
from services.coordination.application.run_ports import Runs, RunWorkshop, Whose
from services.coordination.application.running import locked
from services.coordination.domain.adoption import unless_faster
from services.coordination.domain.worker import Reason
from services.kernel.clock import Clock
from services.kernel.errors import Unavailable
from services.kernel.telemetry import get_logger

_EVERY: Final = 0.5
_MOST: Final = 100
_AT_ONCE: Final = 8
HEARD_WITHIN: Final = timedelta(seconds=60)
"""So much longer is a worker kept whose words cannot be read just now; then it ends without them."""
_log = get_logger("coordination.forcing")


class Forcing:
    """Run by every replica; rows decide who is first."""

    def __init__(self, runs: Runs, workshop: RunWorkshop, last_words: LastWords, clock: Clock) -> None:
        self._runs = runs
        self._workshop = workshop
        self._last_words = last_words
        self._clock = clock
        self._trying = Persevering("forcing")

    async def run(self) -> None:
        """For ever, twice a second."""
        await self._trying.forever(self.round, _EVERY)

    async def round(self) -> None:
        """Ends those that should have stopped by now."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def force(whose: Whose) -> None:
            async with gate:
                await self._trying.attempt(whose.worker_id, lambda: self._force(whose))

        await asyncio.gather(*(force(one) for one in await self._runs.unstopped(self._clock.now(), _MOST)))

    async def _force(self, whose: Whose) -> bool:
        words: Words | Unavailable
        try:
            words = await self._last_words.of(whose.tenant, whose.session_id)
        except Unavailable as away:
            words = away
        async with self._workshop.work() as work:
            coordinator, worker = await locked(work, whose)
            now = self._clock.now()
            if worker.ended or not worker.stop_reason or worker.stop_by is None or worker.stop_by > now:
                return True  # it has ended meanwhile
            if isinstance(words, Unavailable):
                if now < worker.stop_by + HEARD_WITHIN:
                    raise words
                words = Words()
            why = unless_faster(Reason(worker.stop_reason), words.outcome)
            # Whatever its session seemed to do: a runner that was not heard of may still prompt it.
            end = replace(words.end(why), stop_session=True)
            await end_worker(work, coordinator, worker, end, SYSTEM, now)
        _log.warning("worker.stop_not_heeded", worker=worker.id, reason=why)
        return True
