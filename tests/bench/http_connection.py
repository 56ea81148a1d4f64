"""A keep-alive HTTP/1.1 connection that costs next to nothing, so that a load generator on the same cores measures
the server and not itself. Knows answers with a content-length only, one request at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast


class UnexpectedAnswer(Exception):
    """An answer that this client cannot read, or one with another status than was asked for."""


class HttpConnection(asyncio.Protocol):
    """One connection; `open_connection` makes it."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Of asyncio."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by class

    def data_received(self, data: bytes) -> None:
        """Of asyncio."""
        self._received += data
        head_end = self._received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = bytes(self._received[:head_end]).lower()
        at = head.find(b"\r\ncontent-length:")
        if at < 0:
            self._fail(UnexpectedAnswer("an answer without content-length"))
            return
        length = int(head[at + 17 :].split(b"\r\n", 1)[0])
        end = head_end + 4 + length
        if len(self._received) >= end and self._waiting is not None and not self._waiting.done():
            body = bytes(self._received[head_end + 4 : end])
            del self._received[:end]
            self._waiting.set_result((int(head[9:12]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        """Of asyncio."""
        self._fail(ConnectionError("the server closed the connection"))

    async def request(self, method: str, path: str, body: bytes = b"", *, expect: int = 200) -> bytes:
        """The body of the answer; UnexpectedAnswer when its status is not `expect`."""
        assert self._transport is not None
        self._waiting = asyncio.get_running_loop().create_future()
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self._transport.write(head.encode("ascii") + body)
        status, answer = await self._waiting
        if status != expect:
            raise UnexpectedAnswer(f"{method} {path} answered {status}: {answer[:500]!r}")
        return answer

    def close(self) -> None:
        """Closes it."""
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, fault: Exception) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(fault)


async def open_connection(address: str) -> HttpConnection:
    """Connects to `host:port`."""
    host, _, port = address.rpartition(":")
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: HttpConnection(address), host, int(port))
    return connection


class HttpPool:
    """Connections that are taken one request at a time; more are opened when none is free."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._free: list[HttpConnection] = []
        self._all: list[HttpConnection] = []

    async def request(self, method: str, path: str, body: bytes = b"", *, expect: int = 200) -> bytes:
        """As HttpConnection.request, on a connection that is free."""
        if self._free:
            connection = self._free.pop()
        else:
            connection = await open_connection(self._address)
            self._all.append(connection)
        answer = await connection.request(method, path, body, expect=expect)
        self._free.append(connection)
        return answer

    def close(self) -> None:
        """Closes all."""
        for connection in self._all:
            connection.close()


@asynccontextmanager
async def http_pool(address: str, warm: int) -> AsyncIterator[HttpPool]:
    """A pool with `warm` connections open already."""
    pool = HttpPool(address)
    pool._all = [await open_connection(address) for _ in range(warm)]
    pool._free = list(pool._all)
    try:
        yield pool
    finally:
        pool.close()
