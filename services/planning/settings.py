"""Settings of the planning service."""

from __future__ import annotations

from services.kernel.settings import ServiceSettings


class PlanningSettings(ServiceSettings):
    """What the planning service reads beyond the common settings."""

    planning_database_url: str = "postgresql://treadle@127.0.0.1:5432/planning"
