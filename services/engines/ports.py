"""Loopback ports: the one that was told, else the one of last time if it is free, else any free one.

Keeping last time's port lets a process that was given a URL find the engine again after a restart.
"""

import contextlib
import json
import socket
from pathlib import Path

from services.engines.errors import PortTaken
from services.engines.private_files import write_private

LOOPBACK = "127.0.0.1"


def pick(engine: str, told: int | None, last: int | None) -> int:
    """Raises PortTaken when the told one is not free."""
    if told is not None:
        if not is_free(told):
            raise PortTaken(engine, told)
        return told
    if last is not None and is_free(last):
        return last
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen()
        except OSError:
            return False
    return True


def load_last(file: Path) -> dict[str, int]:
    """Last time's ports; nothing when there are none or the file makes no sense."""
    with contextlib.suppress(OSError, ValueError):
        read = json.loads(file.read_text())
        if isinstance(read, dict):
            return {k: v for k, v in read.items() if isinstance(v, int) and 0 < v < 65536}
    return {}


def save_last(file: Path, ports: dict[str, int], owner: tuple[int, int]) -> None:
    write_private(file, json.dumps(ports), owner)
