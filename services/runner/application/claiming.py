"""The claim loop: takes as many jobs as there is room for, and stops taking when told (drain)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from services.kernel import telemetry
from services.kernel.drain import Drain
from services.kernel.errors import DeadlineExceeded, Refusal, Unavailable
from services.kernel.ids import NewId
from services.runner.application.backoff import MOST_SECONDS, delays
from services.runner.application.ports import LeasedJob

_log = telemetry.get_logger("runner.claiming")


class Claims(Protocol):
    """Where jobs come from."""

    async def claim(self, claim_id: str, limit: int, wait: float) -> Sequence[LeasedJob]:
        """Up to `limit` jobs, waiting up to `wait` seconds. The same claim_id answers the same leases."""
        ...


class Run(Protocol):
    """One job from claim to report."""

    async def run(self) -> None:
        """To the end; never raises but for a cancel of the runner itself."""
        ...

    def wind_down(self) -> None:
        """This runner stops soon: the work may end at a good moment."""
        ...

    def drain(self) -> None:
        """This runner stops: end now."""
        ...

    @property
    def idle_seconds(self) -> float:
        """For how long there has been nothing to do; 0 where there is."""
        ...

    def make_room(self) -> None:
        """Somebody else could use the place: end, if there is nothing to do."""
        ...


_IDLE_SECONDS: Final = 1.0
"""Who had something to do a moment ago may have more."""
_SPARE_PART: Final = 4
"""One place in so many (one at least) is kept free of idle ones."""
_LOOK_SECONDS: Final = 0.25


class Claiming:
    """Claims for one service. `run()` is a duty; `drain()` ends it within its grace."""

    def __init__(
        self,
        what: str,
        jobs: Claims,
        open_run: Callable[[LeasedJob], Run],
        new_id: NewId,
        *,
        most: int,
        wait: float,
    ) -> None:
        """`what` it claims, for the log; `most`: jobs at a time; `wait`: seconds of one long-poll."""
        self.what = what
        self._jobs = jobs
        self._open_run = open_run
        self._new_id = new_id
        self._most = most
        self._wait = wait
        self._running: dict[asyncio.Task[None], Run] = {}
        self._drain = Drain()
        self._claiming = asyncio.Lock()
        self._unheard: tuple[str, int] | None = None
        """claim_id and limit of a claim whose answer has not arrived."""

    async def run(self) -> None:
        """Until the drain."""
        async with self._claiming:
            while not self._drain.begun:
                await self._drain.cuts_short(self._claim_and_launch())

    async def drain(self, grace: float) -> None:
        """No claim from now on; what runs may end within `grace` seconds, then it is stopped and reported so."""
        await self._drain.begin()
        async with self._claiming:
            await self._hear_the_last_claim()
        for run in self._running.values():
            run.wind_down()
        if self._running:
            await asyncio.wait(self._running, timeout=grace)
        for run in self._running.values():
            run.drain()
        if self._running:
            await asyncio.wait(self._running)

    async def _claim_and_launch(self) -> None:
        self._make_room()
        while len(self._running) >= self._most:
            await asyncio.wait(self._running, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            self._make_room()
        self._launch(await self._claim(self._most - len(self._running)))

    def _make_room(self) -> None:
        """Work that only waits for more of it (an agent whose turn is over) must not keep others out: where places run
        short, those that have been idle for longest are asked to go."""
        spare = max(1, self._most // _SPARE_PART)
        short = len(self._running) + spare - self._most
        if short > 0:
            idle = sorted((run for run in self._running.values() if run.idle_seconds > _IDLE_SECONDS), key=_idle)
            for run in idle[-short:]:
                run.make_room()

    def _launch(self, jobs: Sequence[LeasedJob]) -> None:
        self._unheard = None
        for job in jobs:
            run = self._open_run(job)
            task = asyncio.create_task(run.run(), name=f"job.{job.id}")
            self._running[task] = run
            task.add_done_callback(self._ended)

    async def _hear_the_last_claim(self) -> None:
        """The claim that the drain cut short may have leased jobs: asked again without waiting, it says which. They
        run like the others, so nobody waits for a lease to end."""
        if self._unheard is not None:
            with contextlib.suppress(Refusal):
                self._launch(await self._jobs.claim(*self._unheard, 0))

    async def _claim(self, limit: int) -> Sequence[LeasedJob]:
        """One claim, asked again under the same claim_id while the answer may have been lost on the way."""
        claim_id = self._new_id("clm")
        self._unheard = (claim_id, limit)
        for delay in delays():
            try:
                return await self._jobs.claim(claim_id, limit, self._wait)
            except (Unavailable, DeadlineExceeded) as refusal:
                _log.warning("claim.not_heard", claim_id=claim_id, reason=refusal.reason, again_in=delay)
                await asyncio.sleep(delay)
            except Refusal as refusal:
                _log.error("claim.refused", reason=refusal.reason, message=refusal.message)
                await asyncio.sleep(MOST_SECONDS)
                return []
        raise AssertionError("delays() does not end")

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        if not task.cancelled() and task.exception() is not None:
            _log.error("job.bug", task=task.get_name(), exc_info=task.exception())


def _idle(run: Run) -> float:
    return run.idle_seconds
