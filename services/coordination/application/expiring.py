"""Time that is over: a worker's own (`timeout`), and that of a stop which its runner did not heed (C.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from services.coordination.application.ending import SYSTEM, End, end_worker
from services.coordination.application.persevering import Persevering
from services.coordination.application.run_ports import Runs, RunWorkshop, Whose
from services.coordination.application.running import locked
from services.coordination.application.stopping import ask_stop
from services.coordination.domain.worker import Reason
from services.kernel.clock import Clock
from services.kernel.telemetry import get_logger

_EVERY: Final = 0.5
_MOST: Final = 100
_log = get_logger("coordination.expiring")


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
        """Asks those to stop whose time is over, and ends those that should have stopped by now."""
        now = self._clock.now()
        await self._each(await self._runs.expired(now, _MOST), self._expire)
        await self._each(await self._runs.unstopped(now, _MOST), self._force)

    async def _each(self, found: Sequence[Whose], do: Callable[[Whose], Awaitable[bool]]) -> None:
        for one in found:
            await self._trying.attempt(one.worker_id, lambda one=one: do(one))  # type: ignore[misc]

    async def _expire(self, whose: Whose) -> bool:
        async with self._workshop.work() as work:
            coordinator, worker = await locked(work, whose)
            now = self._clock.now()
            if worker.expires_at is not None and worker.expires_at <= now:
                await ask_stop(work, coordinator, worker, Reason.TIMEOUT, SYSTEM, now)
        return True

    async def _force(self, whose: Whose) -> bool:
        async with self._workshop.work() as work:
            coordinator, worker = await locked(work, whose)
            now = self._clock.now()
            if worker.stop_reason and worker.stop_by is not None and worker.stop_by <= now and not worker.ended:
                end = End(Reason(worker.stop_reason), stop_session=True)
                await end_worker(work, coordinator, worker, end, SYSTEM, now)
                _log.warning("worker.stop_not_heeded", worker=worker.id, reason=worker.stop_reason)
        return True
