"""The numbers of design/threads.md section 0.9a; all are settings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Timing:
    """Seconds unless a timedelta says otherwise."""

    lease: timedelta = timedelta(seconds=15)
    heartbeat: timedelta = timedelta(seconds=5)
    inference_backoff: tuple[timedelta, ...] = (
        timedelta(seconds=1),
        timedelta(seconds=5),
        timedelta(seconds=25),
    )
    inference_attempts: int = 3
    proposed_expiry: timedelta = timedelta(days=30)
    review_auto_accept: timedelta = timedelta(hours=72)
    cancel_grace: timedelta = timedelta(seconds=30)
