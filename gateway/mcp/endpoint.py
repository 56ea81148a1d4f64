"""`POST /mcp`: lets the caller in as REST does, reads one message, and hands it to the MCP server.

Stateless: no session ids, no stream of the server's own, nothing to delete. GET and DELETE are refused (405).
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any, Final

from gateway.auth import Door
from gateway.edge import ROUTE
from gateway.http import Disconnected, Receive, Scope, Send, answer, header, read_body
from gateway.limits import Limits
from gateway.mcp.message import NotAMessage, read_message
from gateway.mcp.server import CALLER, REFUSED, McpServer
from gateway.refusals import WrongMethod
from gateway.unary import check_media_type
from services.kernel import request

PATH: Final = "/mcp"


class McpEndpoint:
    """One path. What is refused before there is a message is a problem document, as on REST."""

    def __init__(self, server: McpServer, door: Door, limits: Limits, body_most: int, body_seconds: float) -> None:
        self._server = server
        self._door = door
        self._limits = limits
        self._body_most = body_most
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        scope[ROUTE] = PATH
        if scope["method"] != "POST":
            raise WrongMethod("METHOD_NOT_ALLOWED", "this path allows POST", {"allow": "POST"})
        principal = self._door.enter(scope)
        check_media_type(header(scope, b"content-type"))
        body = await read_body(scope, receive, self._body_most, self._body_seconds)
        try:
            message = read_message(body)
        except NotAMessage as fault:
            await answer(send, 400, fault.body)
            return
        scope[CALLER] = request.current()
        scope[REFUSED] = message.refusal
        with self._limits.stream(principal):
            await self._hand_over(message.tool, message.body, scope, receive, send)

    async def _hand_over(self, tool: str | None, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """The answer, or nothing when the client leaves first: that cancels the call."""
        left = asyncio.Event()
        pieces: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> MutableMapping[str, Any]:
            if pieces:
                return pieces.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            left.set()

        answering = asyncio.create_task(self._server.handle(tool, scope, replay, send))
        watching = asyncio.create_task(watch())
        try:
            await asyncio.wait({answering, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answering.cancel()
            watching.cancel()
            await asyncio.gather(answering, watching, return_exceptions=True)
        if answering.cancelled():
            raise Disconnected
        answering.result()
