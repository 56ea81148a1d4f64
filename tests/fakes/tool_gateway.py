"""A gateway that offers tools over MCP: the SDK's own server, stateless, over HTTP, with what a test says behind it.

It may go away and come back on the same port.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import orjson
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]] | dict[str, Any]]


class _Uvicorn(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the test runner's."""
        yield


@dataclass
class ToolGateway:
    """`handlers` by tool; an answer `{"ok": False, …}` is a refusal. `calls` and `tokens` are what came in; the calls
    of `breaking` end without an answer, each once. Tools in `turned` take a `turn_id`."""

    handlers: dict[str, Handler]
    read_only: set[str] = field(default_factory=set)
    turned: set[str] = field(default_factory=set)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    posts: int = 0
    breaking: int = 0
    port: int = 0
    _stop: Callable[[], Awaitable[None]] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def of(self, tool: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == tool]

    async def start(self) -> None:
        server = Server("treadle", on_list_tools=self._list, on_call_tool=self._call)
        manager = StreamableHTTPSessionManager(server, stateless=True, json_response=True)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            self.posts += 1
            headers = {key.decode(): value.decode() for key, value in scope["headers"]}
            self.tokens.add(headers.get("authorization", ""))
            if scope["method"] != "POST" or scope["path"] != "/mcp":
                await send({"type": "http.response.start", "status": 405, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
            await manager.handle_request(scope, receive, send)

        listener = socket.create_server(("127.0.0.1", self.port))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = listener.getsockname()[1]
        http = _Uvicorn(uvicorn.Config(app, lifespan="off", log_config=None, timeout_graceful_shutdown=1))
        stopping, ready = asyncio.Event(), asyncio.Event()

        async def run() -> None:
            async with manager.run():
                serving = asyncio.create_task(http.serve(sockets=[listener]))
                while not http.started:
                    await asyncio.sleep(0.01)
                ready.set()
                await stopping.wait()
                http.should_exit = True
                await serving

        running = asyncio.create_task(run())
        await ready.wait()

        async def stop() -> None:
            stopping.set()
            await running

        self._stop = stop

    async def stop(self) -> None:
        if self._stop is not None:
            await self._stop()
            self._stop = None

    async def _list(self, _: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[self._tool(name) for name in self.handlers])

    def _tool(self, name: str) -> types.Tool:
        properties: dict[str, Any] = {"text": {"type": "string"}}
        if name in self.turned:
            properties["turn_id"] = {"type": "string"}
        if name not in self.read_only:
            properties["request_id"] = {"type": "string"}
        schema = {"type": "object", "properties": properties}
        hint = types.ToolAnnotations(read_only_hint=name in self.read_only)
        return types.Tool(name=name, description=f"Does {name}", input_schema=schema, annotations=hint)

    async def _call(self, _: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = dict(params.arguments or {})
        self.calls.append((params.name, arguments))
        if self.breaking:
            self.breaking -= 1
            raise RuntimeError("the test broke the call")
        answer = self.handlers[params.name](arguments)
        body = answer if isinstance(answer, dict) else await answer
        text = types.TextContent(type="text", text=orjson.dumps(body).decode())
        return types.CallToolResult(content=[text], structured_content=body, is_error=body.get("ok") is False)


@asynccontextmanager
async def offering(read_only: set[str] | None = None, **handlers: Handler) -> AsyncIterator[ToolGateway]:
    """A running one."""
    gateway = ToolGateway(handlers, read_only or set())
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()
