"""Stops what a worker's end has left running: its session's turn is aborted in streaming, however long that takes."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from services.coordination.application.persevering import Persevering, pause
from services.coordination.application.run_ports import Bells, Due, Errands, WorkerSessions
from services.kernel.clock import Clock
from services.kernel.errors import Refusal, Unavailable
from services.kernel.telemetry import get_logger

_EVERY: Final = 1.0
_MOST: Final = 50
_PAUSE_MOST: Final = timedelta(seconds=60)
_log = get_logger("coordination.aborting")


class Aborting:
    """Run by every replica: an abort twice is as good as once."""

    def __init__(self, errands: Errands, sessions: WorkerSessions, bells: Bells, clock: Clock) -> None:
        self._errands = errands
        self._sessions = sessions
        self._bells = bells
        self._clock = clock
        self._trying = Persevering("aborting")

    async def run(self) -> None:
        """For ever; woken by a ping, and polling besides."""
        async with self._bells.of_duties() as bell:
            await self._trying.forever(self.round, _EVERY, bell.wait)

    async def round(self) -> None:
        """What is due."""
        for due in await self._errands.stops(self._clock.now(), _MOST):
            await self._trying.attempt(due.session_id, lambda due=due: self._abort(due))  # type: ignore[misc]

    async def _abort(self, due: Due) -> bool:
        try:
            await self._sessions.abort(due.tenant, due.session_id)
        except Unavailable:
            await self._errands.stop_later(due, self._clock.now() + pause(due.attempts, _PAUSE_MOST))
            raise
        except Refusal as refusal:  # nothing that a repeat would change
            _log.error("abort.refused", session=due.session_id, reason=refusal.reason)
        await self._errands.stopped(due)
        return True
