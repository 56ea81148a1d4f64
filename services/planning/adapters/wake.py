"""Wakes whoever waits for what a commit wrote: the relay, and who drives branches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from services.kernel.bus import Bell, Bus
from services.kernel.outbox import wake_subject

BRANCHES_SUBJECT: Final = "wake.planning.branches"


class Wake:
    """Pings after commits; a lost one is what polling is for."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def committed(self, *, facts: bool) -> None:
        """After a commit; never fails."""
        if facts:
            await self._bus.ping(wake_subject("planning"))

    async def branch(self) -> None:
        """A branch is to be driven on."""
        await self._bus.ping(BRANCHES_SUBJECT)

    @asynccontextmanager
    async def of_branches(self) -> AsyncIterator[Bell]:
        """Rung when a branch is to be driven on."""
        async with self._bus.listen(BRANCHES_SUBJECT) as bell:
            yield bell
