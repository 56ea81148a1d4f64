"""A worker's own time that is over (`timeout`): it is asked to stop (C.3)."""

from __future__ import annotations

from typing import Final

from services.coordination.application.ending import SYSTEM
from services.coordination.application.persevering import Persevering
from services.coordination.application.run_ports import Runs, RunWorkshop, Whose
from services.coordination.application.running import locked
from services.coordination.application.stopping import ask_stop
from services.coordination.domain.worker import Reason
from services.kernel.clock import Clock

_EVERY: Final = 0.5
_MOST: Final = 100


class Expiring:
    """Run by every replica; rows decide who is first."""

    def __init__(self, runs: Runs, workshop: RunWorkshop, clock: Clock) -> None:
        self._runs = runs
        self._workshop = workshop
        self._clock = clock
        self._trying = Persevering("expiring")

    async def run(self) -> None:
        """For ever, twice a second."""
        await self._trying.forever(self.round, _EVERY)

    async def round(self) -> None:
        """Asks those to stop whose time is over."""
        for one in await self._runs.expired(self._clock.now(), _MOST):
            await self._trying.attempt(one.worker_id, lambda one=one: self._expire(one))  # type: ignore[misc]

    async def _expire(self, whose: Whose) -> bool:
        async with self._workshop.work() as work:
            coordinator, worker = await locked(work, whose)
            now = self._clock.now()
            if worker.expires_at is not None and worker.expires_at <= now:
                await ask_stop(work, coordinator, worker, Reason.TIMEOUT, SYSTEM, now)
        return True
