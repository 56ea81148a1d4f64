"""What a caller may choose about the engines; every default is right for one person's laptop.

Reads no environment: who calls decides where a value comes from.
"""

from dataclasses import dataclass

DATABASES = ("threads", "coordination", "planning", "streaming")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Ports are chosen free unless told. `nats_sync_interval` is a NATS duration or `always`
    (design/quality.md, row "embedded NATS": `always` survives a power cut and appends at about a third).
    `fsync=False` is for throw-away test folders only. Sizes are PostgreSQL's and NATS's own notation.
    """

    databases: tuple[str, ...] = DATABASES
    postgres_port: int | None = None
    nats_port: int | None = None
    nats_sync_interval: str = "2m"
    account: str | None = None
    max_connections: int = 100
    shared_buffers: str = "48MB"
    fsync: bool = True
    start_seconds: float = 60.0
