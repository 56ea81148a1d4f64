"""Ports for processes under test, which are told one before they start, and keep it when they are started again."""

from __future__ import annotations

import random
import socket

_LEAST, _MOST = 12_000, 32_000
"""Below the ports that the kernel gives to outgoing connections (32,768 and up on Linux): one of those would be taken
by some connection of a neighbour between the look and the start."""


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    chance = random.SystemRandom()  # test processes share the seed of `random`
    while True:
        port = chance.randrange(_LEAST, _MOST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
