"""What ASGI has no word for: cutting a connection, and not waiting for ever for a request to begin."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway.http import Scope

_EXTENSION: Final = "treadle.transport"


class CuttableProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, whose requests know their transport, and whose clients must say what they want: a
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
        """The first byte of a request: adds the transport to its scope."""
        super().on_message_begin()
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self.transport.close)
        scope: Any = self.scope
        scope["extensions"] = {_EXTENSION: self.transport}

    def on_headers_complete(self) -> None:
        """The head is whole; the body has a deadline of its own (gateway.http.read_body)."""
        self._stop_timer()
        super().on_headers_complete()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def abort(scope: Scope) -> None:
    """Drops the connection and what is still buffered for it; nothing where the server is not ours."""
    transport = scope.get("extensions", {}).get(_EXTENSION)
    if transport is not None:
        transport.abort()


def protocol(head_seconds: float) -> type[CuttableProtocol]:
    """The protocol with its limit set; uvicorn takes a class."""
    return type("Protocol", (CuttableProtocol,), {"head_seconds": head_seconds})
