"""Settings of the coordination service."""

from __future__ import annotations

from services.kernel.settings import ServiceSettings


class CoordinationSettings(ServiceSettings):
    """What the coordination service reads beyond the common settings."""

    listen: str = "127.0.0.1:9102"
    coordination_database_url: str = "postgresql://treadle@127.0.0.1:5432/coordination"
