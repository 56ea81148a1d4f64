"""Settings of the threads service."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from services.kernel.settings import ServiceSettings
from services.threads.domain.timing import Timing


class ThreadsSettings(ServiceSettings):
    """What the threads service reads beyond the common settings; defaults are section 0.9a's numbers."""

    listen: str = "127.0.0.1:9101"
    threads_database_url: str = "postgresql://treadle@127.0.0.1:5432/threads"
    lease_seconds: float = Field(default=15.0, gt=0, le=3600)
    """How long a runner may be silent."""
    inference_attempts: int = Field(default=3, ge=1, le=20)
    inference_backoff_seconds: tuple[float, ...] = Field(default=(1.0, 5.0, 25.0), min_length=1)
    """Between attempts; the last one repeats."""
    proposed_expiry_days: float = Field(default=30.0, gt=0)
    review_auto_accept_hours: float = Field(default=72.0, gt=0)
    sweep_seconds: float = Field(default=1.0, gt=0, le=60)
    """How often expired leases and due timers are looked for."""

    def timing(self) -> Timing:
        """The numbers as the domain reads them."""
        return Timing(
            lease=timedelta(seconds=self.lease_seconds),
            inference_backoff=tuple(timedelta(seconds=seconds) for seconds in self.inference_backoff_seconds),
            inference_attempts=self.inference_attempts,
            proposed_expiry=timedelta(days=self.proposed_expiry_days),
            review_auto_accept=timedelta(hours=self.review_auto_accept_hours),
        )
