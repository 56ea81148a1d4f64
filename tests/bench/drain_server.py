"""The raw limit of fan-out: a bare asyncio server whose readers each have a queue that is drained once a wake-up, of
bytes that were encoded before they came. No HTTP but a fixed head, no cursors, no limits.

    python -m tests.bench.drain_server

Says {"http": port, "feed": port}; what comes in on `feed` (whole SSE frames) goes out to every reader. Ends with its
standard input.
"""

from __future__ import annotations

import asyncio
import os
import sys

import orjson
import uvloop

from tests.bench.sse_readers import raise_open_files

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\r\nretry: 1000\n\n"
_END = b"\n\n"


class Fanout:
    """The readers' queues."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[bytes]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One reader, until it leaves."""
        await reader.readuntil(b"\r\n\r\n")
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._queues.add(queue)
        try:
            writer.write(_HEAD)
            while True:
                chunk = [await queue.get()]
                while not queue.empty():
                    chunk.append(queue.get_nowait())
                writer.write(b"".join(chunk))
                await writer.drain()
        except ConnectionError:
            return
        finally:
            self._queues.discard(queue)
            writer.close()

    async def feed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The source of events."""
        rest = b""
        while received := await reader.read(256 * 1024):
            whole, mark, rest = (rest + received).rpartition(_END)
            frames = [frame + _END for frame in whole.split(_END)] if mark else []
            for queue in self._queues:
                for frame in frames:
                    queue.put_nowait(frame)
        writer.close()


async def _main() -> None:
    raise_open_files()
    fanout = Fanout()
    http = await asyncio.start_server(fanout.serve, "127.0.0.1", 0, backlog=2048)
    feed = await asyncio.start_server(fanout.feed, "127.0.0.1", 0)
    ports = {"http": http.sockets[0].getsockname()[1], "feed": feed.sockets[0].getsockname()[1]}
    sys.stdout.buffer.write(orjson.dumps(ports) + b"\n")
    sys.stdout.buffer.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # nothing here is worth a thousand cancelled tasks


if __name__ == "__main__":
    uvloop.run(_main())
