"""Cutting a connection: ASGI has no word for it, so our server's protocol leaves its transport in the scope."""

from __future__ import annotations

from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway.http import Scope

_EXTENSION: Final = "treadle.transport"


class CuttableProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, whose requests know their transport."""

    def on_message_begin(self) -> None:
        """Adds the transport to the request's scope."""
        super().on_message_begin()
        scope: Any = self.scope
        scope["extensions"] = {_EXTENSION: self.transport}


def abort(scope: Scope) -> None:
    """Drops the connection and what is still buffered for it; nothing where the server is not ours."""
    transport = scope.get("extensions", {}).get(_EXTENSION)
    if transport is not None:
        transport.abort()
