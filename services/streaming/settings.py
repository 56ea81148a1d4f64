"""Settings of the streaming service."""

from __future__ import annotations

from typing import Final

from pydantic import Field, field_validator

from services.kernel.settings import ServiceSettings

NO_PLANNING: Final = "none"


class StreamingSettings(ServiceSettings):
    """What the streaming service reads beyond the common settings."""

    listen: str = "127.0.0.1:9104"
    streaming_database_url: str = "postgresql://treadle@127.0.0.1:5432/streaming"
    stream_replicas: int = Field(default=1, ge=1, le=5)
    """Copies of each JetStream stream, when this service makes it; 3 in a cluster."""
    domain_days: int = Field(default=7, ge=1, le=365)
    """How many days DOMAIN keeps facts, when this service makes it."""
    session_lease_seconds: float = Field(default=15.0, ge=0.5, le=300)
    """How long a runner may be silent before its sessions' turns are failed (`runner_lost`)."""
    planning_target: str = Field(default="", validate_default=True)
    """Planning's address. It must be said, because no turn begins without its snapshot (design/planning.md P.1);
    `none`: nobody branches here, and turns begin without."""
    turn_start_seconds: float = Field(default=6.0, ge=0.5, le=60)
    """How long the start of a turn may take before it has failed (`start_failed`); planning has two of them."""
    unclaimed_seconds: float = Field(default=60.0, ge=0.5, le=3600)
    """How long a session waits for a runner before its turn is failed (`start_failed`)."""

    @field_validator("planning_target")
    @classmethod
    def _said(cls, target: str) -> str:
        if not target:
            raise ValueError("must be planning's address, or none: then turns begin without snapshots")
        return target

    @property
    def asks_planning(self) -> bool:
        """Whether planning hears of sessions and turns."""
        return self.planning_target != NO_PLANNING
