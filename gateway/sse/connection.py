"""What ASGI has no word for: cutting a connection, writing the same bytes to a thousand of them, and not waiting for
ever for a request to begin. Leans on the inside of uvicorn's HTTP protocol, which the SSE tests hold it to."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gateway.http import Scope

_EXTENSION: Final = "treadle.connection"


class Connection:
    """The connection under a response that has begun (chunked)."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    @property
    def ready(self) -> bool:
        """Whether the peer is there, and has taken enough of what was written before."""
        return not self._cycle.flow.write_paused and not self._cycle.disconnected

    def write_now(self, chunk: bytes) -> None:
        """Writes an encoded chunk (see Chunks); only while `ready`."""
        self._cycle.transport.write(chunk)

    async def write(self, chunk: bytes) -> None:
        """Writes an encoded chunk as soon as the peer is ready for it; nothing when it has gone."""
        if self._cycle.flow.write_paused:
            await self._cycle.flow.drain()
        if not self._cycle.disconnected:
            self._cycle.transport.write(chunk)

    def abort(self) -> None:
        """Drops the connection and what is still buffered for it."""
        self._cycle.transport.abort()


class Chunks:
    """Bodies as HTTP chunks. The newest is kept: what is one object for many readers is encoded once for them."""

    def __init__(self) -> None:
        self._body = b""
        self._chunk = b""

    def encode(self, body: bytes) -> bytes:
        """The chunk that carries the (non-empty) body."""
        if body is not self._body:
            self._body, self._chunk = body, b"%x\r\n%b\r\n" % (len(body), body)
        return self._chunk


class ConnectionProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, whose requests know their connection, and whose clients must say what they want: a
    connection without a whole request head is closed after `head_seconds`."""

    head_seconds = 15.0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection, before its first byte."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.head_seconds, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end."""
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def on_headers_complete(self) -> None:
        """The head is whole: its scope gets the connection. The body has a deadline of its own (gateway.http)."""
        self._stop_timer()
        super().on_headers_complete()
        scope: Any = self.scope
        scope["extensions"] = {_EXTENSION: Connection(self.cycle)}

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def connection_of(scope: Scope) -> Connection:
    """The connection of a request that our own server took."""
    connection: Connection = scope["extensions"][_EXTENSION]
    return connection


def protocol(head_seconds: float) -> type[ConnectionProtocol]:
    """The protocol with its limit set; uvicorn takes a class."""
    return type("Protocol", (ConnectionProtocol,), {"head_seconds": head_seconds})
