"""A TCP proxy on loopback that cuts connections in the middle of an answer, after a seeded random number of bytes.

It knows nothing of HTTP: a cut falls into a head, a chunk's size, a character or between two events, as it happens.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

_SIZES: Final = (700, 7_000, 70_000)
"""A connection's bytes are drawn evenly below one of these: some die in the head, some carry hundreds of events."""
_HEAD: Final = 2_000
"""A cut below this may fall into the answer's head and is always a reset: Chromium takes a head that ends with the
connection for a whole one (RFC 9112 8 calls it incomplete), misses the content type and gives up for good."""
_READ: Final = 16 * 1024


class CuttingProxy:
    """One client's way to one server. Harmless until `begin`."""

    def __init__(self, target: str, seed: int) -> None:
        """`target`: `host:port` of the server."""
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._random = random.Random(seed)
        self._open: set[asyncio.StreamWriter] = set()
        self._cutting = False
        self.cuts = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until one side closes it or its bytes are used up."""
        allowance = self._random.randrange(self._random.choice(_SIZES)) if self._cutting else None
        abrupt = self._random.random() < 0.5 or (allowance is not None and allowance < _HEAD)
        upstream, server = await asyncio.open_connection(self._host, self._port)
        self._open |= {writer, server}
        asking = asyncio.create_task(_copy(reader, server))
        try:
            if await _copy(upstream, writer, allowance):
                self.cuts += 1
                if abrupt:
                    _reset(writer)
        finally:
            asking.cancel()
            for side in (writer, server):
                self._open.discard(side)
                side.close()

    def begin(self) -> None:
        """Cuts from now on. Connections made before are ended: a client would keep one alive and use it uncut."""
        self.close()
        self._cutting = True

    def close(self) -> None:
        """Ends what is open."""
        for side in self._open:
            side.transport.abort()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter, most: int | None = None) -> bool:
    """Passes bytes on, at most so many; answers whether that was what ended it."""
    with suppress(OSError):
        while most is None or most > 0:
            data = await source.read(_READ if most is None else min(most, _READ))
            if not data:
                return False
            sink.write(data)
            await sink.drain()
            most = None if most is None else most - len(data)
        return True
    return False


def _reset(writer: asyncio.StreamWriter) -> None:
    """Ends with RST instead of FIN: even what was passed on may be lost."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@asynccontextmanager
async def cutting_proxy(target: str, seed: int) -> AsyncIterator[CuttingProxy]:
    """A proxy that listens at `url`."""
    proxy = CuttingProxy(target, seed)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.close()
        await server.wait_closed()
