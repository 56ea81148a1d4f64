"""Wakes whoever waits for what a commit wrote: the relay."""

from __future__ import annotations

from services.kernel.bus import Bus
from services.kernel.outbox import wake_subject


class Wake:
    """Pings after commits; a lost one is what polling is for."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def committed(self, *, facts: bool) -> None:
        """After a commit; never fails."""
        if facts:
            await self._bus.ping(wake_subject("planning"))
