"""One reader of an SSE stream inside the benchmark's own process: calls back with each event as it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

OnEvent = Callable[[bytes, bytes, float], None]
"""Name of the event, its data, and the moment it came (time.monotonic)."""


async def _read(reader: asyncio.StreamReader, on_event: OnEvent, opened: asyncio.Event) -> None:
    name = b""
    while line := await reader.readline():
        opened.set()
        # Chunk sizes of the transfer encoding stand on lines of their own and look like no field of an event.
        if line.startswith(b"event: "):
            name = line[7:].strip()
        elif line.startswith(b"data: "):
            on_event(name, line[6:].strip(), time.monotonic())


@asynccontextmanager
async def event_stream(address: str, path: str, on_event: OnEvent) -> AsyncIterator[None]:
    """Reads while the context is open; entered once the answer has begun."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**20)
    head = f"GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: text/event-stream\r\n\r\n"
    writer.write(head.encode("ascii"))
    opened = asyncio.Event()
    reading = asyncio.create_task(_read(reader, on_event, opened))
    try:
        async with asyncio.timeout(20):
            await opened.wait()
        yield
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
        writer.close()
