"""The gateway's tools through the official MCP client, streamable HTTP, as the session's own agent.

Nothing is kept between two calls on the gateway's side, so a gateway that restarts is simply asked again: before the
call was sent always, after it only where a repeat does no harm (a tool that reads, or one with a `request_id`).
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final, TypeVar

import httpx2
import orjson
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent, Tool

from services.kernel import telemetry
from services.kernel.ids import new_id
from services.runner.application.backoff import delays
from services.runner.application.tools import NewestToken, ToolAnswer, ToolOffer, Tools

_log = telemetry.get_logger("runner.tools")
_CALL_SECONDS: Final = 30.0
_WAIT_SECONDS: Final = 60.0
_TRIES: Final = 6
_PAGES_MOST: Final = 20
_LEAVE_SECONDS: Final = 1.0
"""How long a client that was given up may take to go."""
_T = TypeVar("_T")


class _NotNow(Exception):
    """The service behind the tool cannot be asked now."""

    def __init__(self, result: CallToolResult) -> None:
        self.result = result


class McpToolbox:
    """Implements application.tools.Toolbox."""

    def __init__(self, gateway_url: str, call_seconds: float = _CALL_SECONDS) -> None:
        """`gateway_url` without `/mcp`; `call_seconds` bound a call, beyond the time that it is told to wait."""
        self._url = f"{gateway_url.rstrip('/')}/mcp"
        self._call_seconds = call_seconds

    @asynccontextmanager
    async def open(self, token: NewestToken, turn: str = "") -> AsyncIterator[Tools]:
        """Asks nothing yet."""

        def bearing(request: httpx2.Request) -> httpx2.Request:
            if newest := token():
                request.headers["authorization"] = f"Bearer {newest}"
            return request

        # The deadline of a call is ours; the connection has none of its own but to be made.
        timeout = httpx2.Timeout(None, connect=10.0)
        async with httpx2.AsyncClient(auth=bearing, timeout=timeout, verify=_certificates(), trust_env=False) as http:
            yield _McpTools(self._url, http, self._call_seconds, turn)


class _McpTools:
    """Implements application.tools.Tools. Every question has a client and a task of its own: where the way breaks, the
    client cancels the task that it lives in, which must not be the agent's."""

    def __init__(self, url: str, http: httpx2.AsyncClient, call_seconds: float, turn: str) -> None:
        self._url = url
        self._turn = turn
        self._http = http
        self._call_seconds = call_seconds
        self._tools: dict[str, Tool] = {}

    async def offers(self) -> Sequence[ToolOffer]:
        """Read once."""
        try:
            async with asyncio.timeout(self._call_seconds):
                known = await self._known()
        except Exception as fault:
            _log.warning("tools.not_listed", fault=_words(fault))
            return ()
        return [ToolOffer(tool.name, tool.description or "", tool.input_schema) for tool in known.values()]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """With a `request_id` of ours where the tool takes one and the caller gave none, and with the turn's id where
        the tool changes something and takes it."""
        try:
            async with asyncio.timeout(self._seconds(arguments)):
                return _answer(await self._call(name, dict(arguments)))
        except TimeoutError:
            return _failed("deadline_exceeded", f"{name} did not answer in time", retryable=True)
        except MCPError as fault:
            return _failed("tool_refused", fault.error.message)
        except Exception as fault:
            _log.warning("tools.call_failed", tool=name, fault=_words(fault))
            return _failed("tools_unavailable", "the tools cannot be reached now", retryable=True)

    def _seconds(self, arguments: Mapping[str, Any]) -> float:
        """A tool that waits without being told how long does so for a minute."""
        waits = arguments.get("timeout_seconds") or arguments.get("timeout_s") or _WAIT_SECONDS
        return self._call_seconds + (float(waits) if isinstance(waits, int | float) else 0.0)

    async def _call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        tool = (await self._known()).get(name)
        repeatable = False
        if tool is not None:
            repeatable = tool.annotations is not None and tool.annotations.read_only_hint is True
            takes = tool.input_schema.get("properties", {})
            if self._turn and "turn_id" in takes and not repeatable:
                arguments["turn_id"] = self._turn  # whatever a model has put there
            if "request_id" in takes:
                repeatable = True
                arguments.setdefault("request_id", new_id("req"))

        async def call(client: Client) -> CallToolResult:
            result = await client.call_tool(name, arguments)
            if repeatable and _is_retryable(_answer(result)):
                raise _NotNow(result)
            return result

        try:
            return await self._ask(call, repeatable)
        except _NotNow as now:
            return now.result

    async def _known(self) -> Mapping[str, Tool]:
        if not self._tools:
            self._tools = await self._ask(_listed, True)
        return self._tools

    async def _ask(self, ask: Callable[[Client], Awaitable[_T]], repeatable: bool) -> _T:
        """Asked again while the gateway is away: about three seconds."""
        for number, delay in enumerate(delays(), 1):
            question = _Question(ask)
            asking = asyncio.create_task(question.put(self._client()), name="tools.call")
            try:
                # Shielded, as the client now and then swallows a cancellation: the deadline would not be one.
                return await asyncio.shield(asking)
            except asyncio.CancelledError:
                if (own := asyncio.current_task()) is not None and own.cancelling():
                    await _left(asking)
                    raise
                fault: Exception = ConnectionError("the way broke")
            except Exception as raised:
                fault = raised
            refused = question.sent and isinstance(fault, MCPError) and not _is_broken(fault)
            if refused or (question.sent and not repeatable) or number >= _TRIES:
                raise fault
            await asyncio.sleep(delay)
        raise AssertionError("delays() does not end")

    def _client(self) -> Client:
        way = streamable_http_client(self._url, http_client=self._http, max_sse_event_size=None)
        return Client(way, cache=None)


class _Question:
    """What is asked of a client. `sent`: it may have arrived."""

    def __init__(self, ask: Callable[[Client], Awaitable[_T]]) -> None:
        self._ask = ask
        self.sent = False

    async def put(self, client: Client) -> Any:
        """The answer counts, whatever happens to the client afterwards."""
        answer: list[Any] = []
        try:
            async with client:
                self.sent = True
                answer.append(await self._ask(client))
        except Exception:
            if not answer:
                raise
        return answer[0]


async def _left(asking: asyncio.Task[Any]) -> None:
    """Gives up what is being asked; nobody wants its answer."""
    asking.cancel()
    asking.add_done_callback(lambda task: task.cancelled() or task.exception())
    await asyncio.wait({asking}, timeout=_LEAVE_SECONDS)


async def _listed(client: Client) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    cursor: str | None = None
    for _ in range(_PAGES_MOST):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _answer(result: CallToolResult) -> ToolAnswer:
    text = "\n\n".join(part.text for part in result.content if isinstance(part, TextContent))
    content: Any = result.structured_content
    if not isinstance(content, Mapping):
        with contextlib.suppress(orjson.JSONDecodeError):
            content = orjson.loads(text)
    return ToolAnswer(text, result.is_error, content if isinstance(content, Mapping) else {})


def _failed(code: str, message: str, retryable: bool = False) -> ToolAnswer:
    """In the gateway's own words for refusals."""
    content = {"ok": False, "error": {"code": code, "message": message, "retryable": retryable, "details": {}}}
    return ToolAnswer(orjson.dumps(content).decode(), True, content)


def _is_retryable(answer: ToolAnswer) -> bool:
    error = answer.content.get("error")
    return answer.failed and isinstance(error, Mapping) and error.get("retryable") is True


def _is_broken(fault: MCPError) -> bool:
    """The way broke, or the other side did; a refusal of the call says something else (JSON-RPC -32600 … -32602)."""
    return fault.error.code in (-32000, -32001, -32603, -32700)


def _words(fault: BaseException) -> str:
    """Kinds, not words: a fault's words may quote what was sent."""
    if isinstance(fault, BaseExceptionGroup):
        return " ".join(_words(one) for one in fault.exceptions)
    return type(fault).__name__


@cache
def _certificates() -> ssl.SSLContext:
    """Reading them takes a while: once a process."""
    return ssl.create_default_context()
