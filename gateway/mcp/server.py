"""The MCP server: the SDK's, stateless, with our tools and our resource in it. Each request is answered for itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

import grpc
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from gateway import problems
from gateway.http import Receive, Scope, Send
from gateway.mcp.answers import answered, refused
from gateway.mcp.calling import ToolCalls, session_of
from gateway.mcp.context_resource import RESOURCE, ContextResource
from gateway.mcp.tools import Tool
from gateway.metrics import TOOL_SECONDS
from gateway.open_calls import OpenCalls
from gateway.openapi.document import VERSION
from services.kernel import request, telemetry
from services.kernel.errors import Refusal
from services.kernel.request import RequestContext

_log = telemetry.get_logger("gateway.mcp")
CALLER: Final = "treadle.caller"
"""Where a scope keeps the RequestContext of who was let in."""
REFUSED: Final = "treadle.mcp.refused"
"""Where a scope keeps what is wrong with the arguments of its tool call."""
_INSTRUCTIONS: Final = (
    "Treadle runs your work where people can watch and steer it. Your session comes from your credential. Call "
    "get_context once at the start of each turn. Errors are JSON: look at code, and try again only where retryable."
)
Context = Any
"""mcp's ServerRequestContext: `request` is the HTTP request, as Starlette has it."""


class McpServer:
    """Answers MCP messages of callers who were let in. `brief` answers are JSON; long ones are a stream of events,
    which keeps the connection alive."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        calls: ToolCalls,
        context: ContextResource,
        open_calls: OpenCalls,
        body_most: int,
    ) -> None:
        self._tools = tools
        self._calls = calls
        self._context = context
        self._open = open_calls
        self._listed = types.ListToolsResult(tools=[_listed(tool) for tool in tools.values()])
        server = Server(
            "treadle",
            version=VERSION,
            title="Treadle",
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )
        # Bodies that are larger are refused before; the SDK's own limit is 4 MiB.
        self._brief, self._long = (
            StreamableHTTPSessionManager(server, stateless=True, json_response=whole, max_request_body_size=body_most)
            for whole in (True, False)
        )
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins to take messages."""
        ready = asyncio.Event()
        self._running = asyncio.create_task(self._run(ready), name="gateway.mcp")
        await ready.wait()

    async def stop(self) -> None:
        """Ends whatever still runs."""
        self._stop.set()
        if self._running is not None:
            await self._running

    async def _run(self, ready: asyncio.Event) -> None:
        """Both managers live in one task, as their task groups must."""
        async with AsyncExitStack() as stack:
            for manager in (self._brief, self._long):
                await stack.enter_async_context(manager.run())
            ready.set()
            await self._stop.wait()

    async def handle(self, tool: str | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one POST. `tool`: which one it calls."""
        known = self._tools.get(tool or "")
        manager = self._long if known is not None and known.long else self._brief
        await manager.handle_request(scope, receive, send)

    async def _list_tools(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        _check_cursor(params)
        return self._listed

    async def _list_resources(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        _check_cursor(params)
        return types.ListResourcesResult(resources=[RESOURCE])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        caller = _enter(context.request.scope)
        contents = await self._context.read(str(params.uri), caller.principal)
        return types.ReadResourceResult(contents=[contents])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, "there is no such tool", {"name": params.name})
        begin = time.perf_counter()
        outcome = "cancelled"
        try:
            result, outcome = await self._answer(tool, params.arguments or {}, context.request.scope)
        finally:
            TOOL_SECONDS.labels(tool.name, outcome).observe(time.perf_counter() - begin)
        return result

    async def _answer(self, tool: Tool, arguments: dict[str, Any], scope: Scope) -> tuple[types.CallToolResult, str]:
        """The result, and in a word how it went."""
        caller = _enter(scope)
        try:
            if scope[REFUSED] is not None:
                raise scope[REFUSED]
            session = session_of(caller.principal)
            body = await self._open.run(self._calls.call(tool, arguments, session))
        except Refusal as refusal:
            problem = problems.of_refusal(refusal)
        except grpc.aio.AioRpcError as error:
            problem = problems.of_rpc(error)
        except Exception as fault:
            _log.error("mcp.tool_failed", tool=tool.name, request_id=caller.request_id, exc_info=fault)
            problem = problems.MASKED
        else:
            return answered(body), "ok"
        _log.info("mcp.tool_refused", tool=tool.name, reason=problem.reason, request_id=caller.request_id)
        return refused(problem), problem.reason.lower()


def _enter(scope: Scope) -> RequestContext:
    """Makes the HTTP request's caller the one of this task: the SDK answers in a task of its own."""
    caller: RequestContext = scope[CALLER]
    request.enter(caller)
    return caller


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(read_only_hint=tool.read_only, open_world_hint=False),
    )


def _check_cursor(params: types.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "there is no such page: everything is on the first one")
