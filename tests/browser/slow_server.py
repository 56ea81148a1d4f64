"""An HTTP server that answers when it is told to: an approved `http_request` to it is executing until then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class SlowServer:
    """On the loopback, while open."""

    url: str = ""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request: 200 after `answer`."""
        await reader.readuntil(b"\r\n\r\n")
        self.asked.set()
        await self.answer.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        await writer.drain()
        writer.close()


@asynccontextmanager
async def slow_server() -> AsyncIterator[SlowServer]:
    """The server from listening to closed; what still waits is answered at the end."""
    slow = SlowServer()
    server = await asyncio.start_server(slow.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    slow.url = f"http://{host}:{port}/"
    try:
        yield slow
    finally:
        slow.answer.set()
        server.close()
