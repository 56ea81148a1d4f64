"""One SSE stream to one reader: headers, frames as they come, comments when nothing does, and a clean end.

What is due is joined and encoded once for all readers that are level, and written straight to the connection.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import grpc
from google.protobuf import message_factory

from gateway.http import GOOD_FOR, Receive, Scope, Send, header
from gateway.limits import Limits
from gateway.metrics import STREAMS_CLOSED, STREAMS_OPEN
from gateway.sse.connection import Chunks, Connection, connection_of
from gateway.sse.streams import Streams, Watch, scope_of
from gateway.transcode.http_rules import Route, RuleFault
from gateway.transcode.query import read_query
from gateway.transcode.router import path_fields
from services.kernel import telemetry
from services.kernel.hub import Reader, StreamClosed
from services.kernel.principal import Principal

_log = telemetry.get_logger("gateway.sse")
_CURSOR: Final = "last_event_id"
PING: Final = b": keep-alive\n\n"
_LONGEST: Final = 30 * 86_400.0
"""Seconds that a stream lasts where nothing else ends it; its reader comes back."""
HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class StreamEndpoint:
    """One route to one server-streaming RPC."""

    def __init__(
        self, route: Route, streams: Streams, limits: Limits, accept_seconds: float, retry_milliseconds: int
    ) -> None:
        if _CURSOR not in route.request.fields_by_name:
            raise RuleFault(f"{route.rpc}: a stream on REST needs {_CURSOR}")
        self._route = route
        self._request = message_factory.GetMessageClass(route.request)
        self._streams = streams
        self._limits = limits
        self._accept_seconds = accept_seconds
        self._chunks = Chunks()
        self._hello = b"retry: %d\n\n" % retry_milliseconds

    async def serve(
        self, scope: Scope, receive: Receive, send: Send, segments: list[str], principal: Principal
    ) -> None:
        """Streams until the reader leaves or is let go. What is refused is refused before the headers."""
        watch, cursor = self._place(scope, segments, principal)
        with self._limits.stream(principal):
            async with self._streams.reader(watch, cursor) as reader:
                await self._streams.accepted(watch, self._accept_seconds)
                STREAMS_OPEN.inc()
                expiry = _expires(scope[GOOD_FOR], reader)
                try:
                    await _Stream(connection_of(scope), send, reader, self._chunks).run(receive, self._hello)
                finally:
                    expiry.cancel()
                    STREAMS_OPEN.dec()

    def _place(self, scope: Scope, segments: list[str], principal: Principal) -> tuple[Watch, str]:
        """What is watched, and from where. The header wins over the parameter, even where it is malformed (PUB05)."""
        reserved = {variable.field for variable in self._route.variables}
        message: Any = read_query(scope["query_string"], self._route.request, reserved)
        for field, value in path_fields(self._route, segments).items():
            setattr(message, field, value)
        given = header(scope, b"last-event-id")
        cursor = message.last_event_id if given is None else given
        message.ClearField(_CURSOR)
        watch = Watch(self._route.rpc, message.SerializeToString(deterministic=True), scope_of(principal))
        return watch, cursor


def _expires(seconds: float | None, reader: Reader) -> asyncio.TimerHandle:
    """Lets the reader go when its token is no good any more: it comes back with another one, or is told that it may
    not (401)."""
    left = _LONGEST if seconds is None else min(max(0.0, seconds), _LONGEST)
    return asyncio.get_running_loop().call_later(left, reader.cut, "expired")


class _Stream:
    """A writer that follows the hub, beside a watch on the connection; whichever ends first ends both."""

    def __init__(self, connection: Connection, send: Send, reader: Reader, chunks: Chunks) -> None:
        self._connection = connection
        self._send = send
        self._reader = reader
        self._chunks = chunks
        self._reason = "client"

    async def run(self, receive: Receive, hello: bytes) -> None:
        """Until the connection is gone; a reader that leaves is not a cancel of anything."""
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        writer = asyncio.create_task(self._write(hello))
        self._reader.on_news = self._pass_on
        self._reader.on_cut = lambda reason: self._cut(writer, reason)
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            STREAMS_CLOSED.labels(self._reason).inc()

    async def _write(self, body: bytes) -> None:
        write, wire, encode = self._connection.write, self._reader.wire, self._chunks.encode
        try:
            while True:
                await write(encode(body))
                body = await wire() or PING
        except StreamClosed as closed:
            self._reason = closed.reason
        except grpc.RpcError:
            self._reason = "source"
        except Exception:
            self._reason = "fault"
            _log.exception("sse.failed")
        last = b": closed %b\n\n" % self._reason.encode("ascii", "replace")
        await self._send({"type": "http.response.body", "body": last, "more_body": False})

    def _pass_on(self) -> bool:
        """Called by the hub while the writer waits: what is new goes straight out, and the writer sleeps on."""
        if not self._connection.ready:
            return False
        try:
            if news := self._reader.take():
                self._connection.write_now(self._chunks.encode(news))
        except Exception:  # one broken connection must not stop what the others get
            _log.exception("sse.write_failed")
            self._connection.abort()
        return self._reader.level

    def _cut(self, writer: asyncio.Task[None], reason: str) -> None:
        """The hub lets the reader go while a write is under way that the peer does not take: nothing can be told to
        it any more, so the connection is cut. It comes back with its last id."""
        self._reason = reason
        writer.cancel()
        self._connection.abort()
