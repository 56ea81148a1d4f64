"""The reconciler: workers whose runner was lost are begun anew, adopted or ended; none is left behind (C.3, PUB07).

Streaming is asked outside of the transaction that takes the verdict, and the verdict looks again under the locks. What
cannot be decided now is looked at again; one worker's trouble is not the others'.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from services.coordination.application.ending import SYSTEM, End, bill, end_worker
from services.coordination.application.last_words import LastWords
from services.coordination.application.persevering import Persevering
from services.coordination.application.run_ports import (
    Leased,
    Runs,
    RunWorkshop,
    TurnSeen,
    WorkerSessions,
)
from services.coordination.application.running import locked
from services.coordination.domain.adoption import Again, Later, Over, Stranded, verdict
from services.kernel.clock import Clock
from services.kernel.telemetry import get_logger

_EVERY: Final = 1.0
_MOST: Final = 200
_AT_ONCE: Final = 8
_UNWATCHED: Final = 5.0
"""Seconds after which a worker is looked at that waits for another runner."""
NOTICED: Final = timedelta(seconds=20)
"""So long after a runner is lost, streaming has noticed it too: a turn that still runs has an agent."""
_log = get_logger("coordination.reconciler")


class Reconciling:
    """Run by every replica; rows decide who is first."""

    def __init__(self, runs: Runs, workshop: RunWorkshop, sessions: WorkerSessions, clock: Clock) -> None:
        self._runs = runs
        self._workshop = workshop
        self._sessions = sessions
        self._last_words = LastWords(sessions)
        self._clock = clock
        self._trying = Persevering("reconciler")

    async def run(self) -> None:
        """For ever: at the start, then every second."""
        await self._trying.forever(self.round, _EVERY)

    async def round(self) -> None:
        """Looks at every worker without a runner once."""
        await self._all(self._runs.lost)
        await self._all(lambda after, most: self._runs.unwatched(_UNWATCHED, after, most))

    async def _all(self, page: Callable[[str, int], Awaitable[Sequence[Leased]]]) -> None:
        """Page by page: however many cannot be decided yet, none behind them is left out."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def look(one: Leased) -> None:
            async with gate:
                await self._trying.attempt(one.job.id, lambda: self.look(one))

        after = ""
        while found := await page(after, _MOST):
            await asyncio.gather(*(look(one) for one in found))
            after = found[-1].job.id

    async def look(self, lost: Leased) -> bool:
        """Decides one, if it can be decided; whether it was."""
        worker = lost.worker
        turn = await self._sessions.turn_of(worker.tenant, worker.session_id)
        match verdict(_stranded(lost, turn, self._clock.now())):
            case Again():
                return await self._begin_again(lost, turn)
            case Over(reason):
                words = await self._last_words.in_turn(worker.tenant, worker.session_id, turn)
                return await self._end(lost, words.end(reason))
            case Later():
                return False
            case unknown:
                assert_never(unknown)

    async def _begin_again(self, lost: Leased, turn: TurnSeen | None) -> bool:
        if lost.job.state == "queued":
            return False  # another runner is wanted already
        async with self._workshop.work() as work:
            coordinator, worker = await locked(work, lost.whose)
            if worker.ended or not await work.lost_job(lost.job.id, lost.job.fence):
                return True  # it was decided meanwhile
            if worker.stop_reason != lost.worker.stop_reason:
                return False  # it is to stop since: look again
            now = self._clock.now()
            told = worker if turn is None else replace(worker, said=worker.said or turn.said, waiting=turn.waiting)
            told, _ = await bill(work, coordinator, told, 0, now)
            told = replace(told, billed_at=None, updated_at=now)
            await work.save_worker(told)
            if told.waiting != worker.waiting:
                await work.fact(told, "waiting", SYSTEM, now)
            await work.requeue_job(lost.job.id, "runner_lost")
        _log.warning("worker.runner_lost", worker=worker.id, launches=worker.launches, said=told.said)
        return True

    async def _end(self, lost: Leased, end: End) -> bool:
        async with self._workshop.work() as work:
            coordinator, worker = await locked(work, lost.whose)
            if worker.ended or not await work.lost_job(lost.job.id, lost.job.fence):
                return True  # it was decided meanwhile, or a runner has it
            ended = await end_worker(work, coordinator, worker, end, SYSTEM, self._clock.now())
        _log.warning("worker.ended_without_runner", worker=ended.id, status=ended.status, reason=ended.reason)
        return True


def _stranded(lost: Leased, turn: TurnSeen | None, now: datetime) -> Stranded:
    worker, since = lost.worker, lost.job.lease_until
    how = None
    if turn is not None:
        how = "waiting" if turn.waiting else "running" if turn.under_way else turn.outcome or "failed"
    return Stranded(
        launches=worker.launches,
        said=worker.said or (turn is not None and turn.said),
        stop_reason=worker.stop_reason,
        turn=how,
        attended=turn is not None and turn.attended,
        for_long=since is not None and now - since >= NOTICED,
    )
