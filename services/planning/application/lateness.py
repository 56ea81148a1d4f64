"""Turns that streaming has ended and planning has not heard of yet: facts may be late, and the bus away. Asked only
where somebody is kept waiting by it, outside any transaction. BeginTurn never comes here: it closes the last turn by
itself, and streaming is waiting for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from services.kernel.clock import Clock
from services.kernel.errors import NotAllowed, Refusal
from services.kernel.telemetry import get_logger
from services.planning.application import turning
from services.planning.application.ports import Endings, Reads
from services.planning.application.work import Workshop

_A = TypeVar("_A")
_log = get_logger("planning.lateness")


class Lateness:
    """What makes up for it."""

    def __init__(self, workshop: Workshop, reads: Reads, endings: Endings, clock: Clock) -> None:
        self._workshop = workshop
        self._reads = reads
        self._endings = endings
        self._clock = clock

    async def unless_over(self, tenant: str, session_id: str, do: Callable[[], Awaitable[_A]]) -> _A:
        """Does it; where it is refused because of a turn under way (TURN_IN_PROGRESS) that is over in truth, the end is
        recorded and it is done once more. `do` is a transaction of its own."""
        try:
            return await do()
        except NotAllowed as refusal:
            if refusal.reason != "TURN_IN_PROGRESS" or not await self._is_over(tenant, session_id):
                raise
        return await do()

    async def _is_over(self, tenant: str, session_id: str) -> bool:
        """Whether no turn is under way, by now or in truth. False where streaming cannot be asked."""
        workspace = (await self._reads.live(tenant, session_id)).workspace
        if not workspace.running:
            return True
        try:
            outcome = await self._endings.outcome_of(tenant, session_id, workspace.turn_id)
        except Refusal as refusal:
            _log.info("turn.unknown", session=session_id, turn=workspace.turn_id, reason=refusal.reason)
            return False
        if outcome is None:
            return False
        async with self._workshop.work() as work:
            await turning.end_turn(work, tenant, session_id, workspace.turn_id, outcome, self._clock.now())
        return True
