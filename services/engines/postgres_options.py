"""How PostgreSQL is made and run on a laptop: safe on disk, small in memory, closed to other people.

Given as command-line options at each start, so that an upgrade of ours reaches data that exists.
"""

from pathlib import Path

from services.engines.databases import ADMIN
from services.engines.ports import LOOPBACK
from services.engines.settings import EngineSettings


def initdb_options(data: Path, password_file: Path, major: int) -> tuple[str, ...]:
    """Byte order for text everywhere, so that order does not depend on the machine's language."""
    locale = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8") if major >= 17 else ()
    return (
        "-D",
        str(data),
        "--username",
        ADMIN,
        "--pwfile",
        str(password_file),
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--no-instructions",
        "--locale=C",
        *locale,
    )


def server_options(settings: EngineSettings, port: int, sockets: Path | None, major: int) -> dict[str, str]:
    options = {
        "listen_addresses": LOOPBACK,
        "port": str(port),
        "unix_socket_directories": f'"{sockets}"' if sockets else "",
        "unix_socket_permissions": "0700",
        "max_connections": str(settings.max_connections),
        "shared_buffers": settings.shared_buffers,
        "fsync": "on" if settings.fsync else "off",
        "maintenance_work_mem": "32MB",
        "max_wal_size": "256MB",
        "min_wal_size": "32MB",
        # One node, no replicas: neither senders nor the WAL they would need.
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_logical_replication_workers": "0",
        "max_worker_processes": "2",
        "max_parallel_workers_per_gather": "0",
        "autovacuum_max_workers": "2",
        "autovacuum_naptime": "20s",
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] %d ",
        "log_checkpoints": "off",
        "logging_collector": "off",
        "log_destination": "stderr",
    }
    if major >= 16:
        # The passwords are 256 random bits: stretching them would only slow each connection down.
        options["scram_iterations"] = "1"
    if major >= 18:
        options["io_method"] = "worker"
        options["io_workers"] = "1"
    return options
