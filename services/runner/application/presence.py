"""Says now and then that this runner is there, also while it has no room: a resume looks at who is there (S.5)."""

from __future__ import annotations

import asyncio

from services.kernel import telemetry
from services.kernel.errors import Refusal
from services.kernel.ids import NewId
from services.runner.application.ports import Jobs

_log = telemetry.get_logger("runner.presence")


async def say_present(jobs: Jobs, new_id: NewId, every: float) -> None:
    """For ever, every so many seconds."""
    while True:
        try:
            await jobs.claim(new_id("clm"), 0, 0)
        except Refusal as refusal:
            _log.info("presence.not_heard", reason=refusal.reason)
        await asyncio.sleep(every)
