"""Ports on a laptop: the gateway's, which is the one that was told, else 8080, else the next free one; and one for a
service whose address others have to know before it listens."""

from __future__ import annotations

import socket
from typing import Final

DEFAULT_PORT: Final = 8080
_TRIED: Final = 50


class NoFreePort(Exception):
    """The port that was told is taken, or none of the usual ones is free."""


def gateway_port(told: int | None) -> int:
    """0 is left to the system. A told port that is taken is refused: others rely on it."""
    if told is not None:
        if told and not _free(told):
            raise NoFreePort(f"port {told} is taken: choose another with --port or TREADLE_PORT, or leave it unset")
        return told
    for port in range(DEFAULT_PORT, DEFAULT_PORT + _TRIED):
        if _free(port):
            return port
    raise NoFreePort(f"no port from {DEFAULT_PORT} to {DEFAULT_PORT + _TRIED - 1} is free: choose one with --port")


def free_address() -> str:
    """An address on loopback that nobody listens at; the system does not give it to another one soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
