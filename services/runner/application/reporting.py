"""Offers what became of a job to its owner until it is taken or refused. A late one is refused by its fence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from services.kernel import telemetry
from services.kernel.errors import DeadlineExceeded, Refusal, Unavailable
from services.runner.application.backoff import delays
from services.runner.application.ports import LeasedJob

_log = telemetry.get_logger("runner.job")


async def offer(send: Callable[[], Awaitable[None]], job: LeasedJob, within: float) -> None:
    """Sends it again while the owner cannot be asked, for `within` seconds. Never raises a refusal."""
    give_up_at = time.monotonic() + within
    for delay in delays():
        try:
            await send()
            return
        except (Unavailable, DeadlineExceeded) as refusal:
            if time.monotonic() > give_up_at:
                _log.error("job.report_given_up", job=job.id, reason=refusal.reason)
                return
            await asyncio.sleep(delay)
        except Refusal as refusal:
            _log.warning("job.report_refused", job=job.id, fence=job.fence, reason=refusal.reason)
            return
