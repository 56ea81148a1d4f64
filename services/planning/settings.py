"""Settings of the planning service."""

from __future__ import annotations

from services.kernel.settings import ServiceSettings


class PlanningSettings(ServiceSettings):
    """What the planning service reads beyond the common settings."""

    listen: str = "127.0.0.1:9103"
    planning_database_url: str = "postgresql://treadle@127.0.0.1:5432/planning"
    streaming_target: str = "127.0.0.1:9104"
    """Where streaming answers, `host:port`: branches are made there too."""
