"""The reconciler: workers whose runner was lost are begun anew, adopted or ended; none is left behind (C.3, PUB07).

Streaming is asked outside of the transaction that takes the verdict, and the verdict looks again under the locks. What
cannot be decided now is looked at again; one worker's trouble is not the others'.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from services.coordination.application.ending import SYSTEM, End, bill, end_worker
from services.coordination.application.persevering import Persevering
from services.coordination.application.run_ports import (
    Leased,
    Runs,
    RunWork,
    RunWorkshop,
    TurnSeen,
    WorkerSessions,
)
from services.coordination.application.running import locked
from services.coordination.domain.adoption import Again, Later, Over, Stranded, Verdict, verdict
from services.coordination.domain.worker import Coordinator, Worker
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
        self._clock = clock
        self._trying = Persevering("reconciler")

    async def run(self) -> None:
        """For ever: at the start, then every second."""
        await self._trying.forever(self.round, _EVERY)

    async def round(self) -> None:
        """Looks at every worker without a runner once."""
        lost = await self._runs.lost(_MOST)
        unwatched = await self._runs.unwatched(_UNWATCHED, _MOST)
        gate = asyncio.Semaphore(_AT_ONCE)

        async def look(one: Leased) -> None:
            async with gate:
                await self._trying.attempt(one.job.id, lambda: self.look(one))

        await asyncio.gather(*(look(one) for one in [*lost, *unwatched]))

    async def look(self, lost: Leased) -> bool:
        """Decides one, if it can be decided; whether it was."""
        worker = lost.worker
        turn = await self._sessions.turn_of(worker.tenant, worker.session_id)
        what = verdict(_stranded(lost, turn, self._clock.now()))
        text = ""
        if turn is not None and not turn.under_way and isinstance(what, Over):
            text = await self._sessions.text_of(worker.tenant, worker.session_id, turn.turn_id)
        if isinstance(what, Later):
            return False
        async with self._workshop.work() as work:
            coordinator, worker = await locked(work, lost.whose)
            if worker.ended or not await work.lost_job(lost.job.id, lost.job.fence):
                return True  # it was decided meanwhile, or a runner has it
            return await self._settle(work, coordinator, worker, lost, turn, what, text)

    async def _settle(
        self,
        work: RunWork,
        coordinator: Coordinator,
        worker: Worker,
        lost: Leased,
        turn: TurnSeen | None,
        what: Verdict,
        text: str,
    ) -> bool:
        now = self._clock.now()
        match what:
            case Again():
                if lost.job.state == "queued":
                    return False  # another runner is wanted already
                told = worker if turn is None else replace(worker, said=worker.said or turn.said, waiting=turn.waiting)
                told, _ = await bill(work, coordinator, told, 0, now)
                told = replace(told, billed_at=None, updated_at=now)
                await work.save_worker(told)
                if told.waiting != worker.waiting:
                    await work.fact(told, "waiting", SYSTEM, now)
                await work.requeue_job(lost.job.id, "runner_lost")
                _log.warning("worker.runner_lost", worker=worker.id, launches=worker.launches, said=told.said)
            case Over(reason):
                tokens = 0 if turn is None else turn.tokens
                end = End(reason, text or None, tokens, stop_session=turn is not None and turn.under_way)
                ended = await end_worker(work, coordinator, worker, end, SYSTEM, now)
                _log.warning("worker.ended_without_runner", worker=ended.id, status=ended.status, reason=ended.reason)
            case Later():
                return False
            case _:
                assert_never(what)
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
