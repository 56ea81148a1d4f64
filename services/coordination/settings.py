"""Settings of the coordination service."""

from __future__ import annotations

from pydantic import Field, field_validator

from services.coordination.domain.running_on import EXTERNAL
from services.kernel.settings import ServiceSettings


class CoordinationSettings(ServiceSettings):
    """What the coordination service reads beyond the common settings."""

    listen: str = "127.0.0.1:9102"
    coordination_database_url: str = "postgresql://treadle@127.0.0.1:5432/coordination"
    streaming_target: str = "127.0.0.1:9104"
    """The streaming service, `host:port`: whether a coordinator's turn is live, and what its workers do."""
    worker_lease_seconds: float = Field(default=15, ge=0.5, le=600)
    """How long a runner keeps a worker without a heartbeat."""
    worker_adapter: str = Field(default="scripted", pattern=r"^[a-z0-9_-]{1,63}$")
    """What workers of an outside coordinator run on, where neither they nor its policy say."""

    deleted_days: float = Field(default=30, ge=0, le=3650)
    """How many days the workers, notes and results of a coordinator outlive the deletion of its session."""

    @field_validator("worker_adapter")
    @classmethod
    def _runs(cls, adapter: str) -> str:
        """It stands in for sessions that are driven from outside, so it is not such a one itself."""
        if adapter == EXTERNAL:
            raise ValueError("external is driven from outside: name an adapter that runners have")
        return adapter
