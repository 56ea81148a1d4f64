"""Wakes coordinators: late results begin a new turn that tells of them, where the coordinator wants that (C.4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from services.coordination.application.persevering import Persevering, pause
from services.coordination.application.run_ports import Bells, Due, Errands, Untold, WorkerSessions
from services.kernel.clock import Clock
from services.kernel.errors import AlreadyExists, Refusal, Unavailable
from services.kernel.telemetry import get_logger

_EVERY: Final = 0.5
_MOST: Final = 50
_TOLD_MOST: Final = 64
"""Ends that one wake names; the others are counted."""
_PAUSE_MOST: Final = timedelta(seconds=30)
"""A turn that ends is heard of at once (application/hearing.py); this is for what was not heard."""
_BUSY: Final = frozenset({"TURN_RUNNING", "SESSION_FORKING"})
_log = get_logger("coordination.waking")


class Waking:
    """Run by every replica: the wake's own id makes it one turn."""

    def __init__(self, errands: Errands, sessions: WorkerSessions, bells: Bells, clock: Clock) -> None:
        self._errands = errands
        self._sessions = sessions
        self._bells = bells
        self._clock = clock
        self._trying = Persevering("waking")

    async def run(self) -> None:
        """For ever; woken by a ping, and polling besides."""
        async with self._bells.of_duties() as bell:
            await self._trying.forever(self.round, _EVERY, bell.wait)

    async def round(self) -> None:
        """What is due."""
        for due in await self._errands.wakes(self._clock.now(), _MOST):
            await self._trying.attempt(due.token, lambda due=due: self._wake(due))  # type: ignore[misc]

    async def _wake(self, due: Due) -> bool:
        untold = await self._errands.untold(due)
        told = [one.worker_id for one in untold]
        if untold:
            try:
                await self._sessions.prompt(due.tenant, due.session_id, words_of(untold), due.token)
            except Unavailable:
                await self._later(due)
                raise
            except AlreadyExists:
                # It was said before, of a few more or less: by another replica, or the answer was lost. Who has ended
                # since then has a wake of another id, and is not to be taken for told.
                told = []
            except Refusal as refusal:
                if refusal.reason in _BUSY:
                    await self._later(due)
                    return True
                # Deleted, or driven from outside: the event on its stream has to do.
                _log.info("wake.refused", session=due.session_id, reason=refusal.reason)
        await self._errands.woken(due, told, self._clock.now())
        return True

    async def _later(self, due: Due) -> None:
        await self._errands.wake_later(due, self._clock.now() + pause(due.attempts, _PAUSE_MOST))


def words_of(untold: Sequence[Untold]) -> str:
    """What the coordinator is told."""
    named = ", ".join(_one(end) for end in untold[:_TOLD_MOST])
    more = len(untold) - _TOLD_MOST
    if more > 0:
        named += f" and {more} more"
    return f"[Treadle] Worker results are in: {named}. Collect them and go on."


def _one(end: Untold) -> str:
    why = "" if end.status == "succeeded" or end.reason == end.status else f": {end.reason}"
    return f"{end.name} ({end.status}{why})"
