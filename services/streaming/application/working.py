"""Jobs of sessions, as runners see them: claim by long-poll, heartbeat (S.5). The fence decides."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from services.kernel.drain import Drain
from services.streaming.application.agent_ports import Agents, Bells, Leased
from services.streaming.domain.offers import Offer

_POLL = 1.0
_ANNOUNCED = 15.0
"""Seconds beyond its long-poll that a runner counts as being there."""


class Working:
    """The use cases; a claim ends early when this replica drains."""

    def __init__(self, rows: Agents, bells: Bells) -> None:
        self._rows = rows
        self._bells = bells
        self._drain = Drain()

    async def drained(self) -> None:
        """Ends every long-poll."""
        await self._drain.begin()

    async def claim(
        self, runner_id: str, claim_id: str, offers: Sequence[Offer], most: int, wait: float
    ) -> list[Leased]:
        """Leases sessions, as soon as there are any; empty after `wait` seconds."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        await self._rows.announce(runner_id, offers, wait + _ANNOUNCED)
        if not most:
            return []
        adapters = [one.adapter for one in offers]
        async with self._bells.of_jobs() as bell:
            while True:
                leased = await self._rows.claim(adapters, runner_id, claim_id, most)
                left = until - loop.time()
                if leased or left <= 0 or self._drain.begun:
                    return leased
                await self._drain.cuts_short(bell.wait(min(left, _POLL)))

    async def heartbeat(self, job_id: str, fence: int) -> datetime:
        """Keeps the lease."""
        return await self._rows.heartbeat(job_id, fence)
