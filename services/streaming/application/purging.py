"""Removes what was deleted ten minutes ago: the log's subject, then the rows (S.1); and rows that have served."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from services.kernel.clock import Clock
from services.kernel.errors import Refusal
from services.kernel.telemetry import get_logger
from services.streaming.application.agent_ports import Agents, LogReading

KEPT = timedelta(minutes=10)
SERVED = timedelta(hours=1)
_MOST = 100
_log = get_logger("streaming.purging")


async def purge(rows: Agents, log: LogReading, clock: Clock) -> int:
    """One round; answers how many sessions are gone for good."""
    gone = 0
    for key in await rows.purgeable(clock.now() - KEPT, _MOST):
        try:
            await log.purge(key)
            await rows.purge(key)
            gone += 1
        except Refusal as refusal:
            _log.warning("purge.waits", session=key.session, reason=refusal.reason)
    return gone


async def purge_forever(rows: Agents, log: LogReading, clock: Clock, seconds: float) -> None:
    """Runs until cancelled."""
    while True:
        await purge(rows, log, clock)
        await rows.sweep(SERVED)
        await asyncio.sleep(seconds)
