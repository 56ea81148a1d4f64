"""Tools through the MCP client against a real MCP server: answers, refusals, a gateway that comes and goes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from mcp import Client

from services.runner.adapters.mcp_tools import McpToolbox, _McpTools
from services.runner.application.no_tools import NoTools
from tests.fakes.tool_gateway import ToolGateway, offering


def echo(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"said": arguments.get("text", "")}


def refuse(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ok": False, "error": {"code": "no_live_turn", "message": "not now", "retryable": False, "details": {}}}


async def test_tools_are_listed_and_called_with_the_sessions_token() -> None:
    async with offering(thread_spawn=echo) as gateway, McpToolbox(gateway.url + "/").open(lambda: "token-1") as tools:
        (offer,) = await tools.offers()
        assert (offer.name, offer.description) == ("thread_spawn", "Does thread_spawn")
        assert offer.parameters["properties"]["text"] == {"type": "string"}
        answer = await tools.call("thread_spawn", {"text": "hello ✓"})
        assert (answer.failed, answer.content, answer.text) == (False, {"said": "hello ✓"}, '{"said":"hello ✓"}')
        assert gateway.tokens == {"Bearer token-1"}
        assert gateway.of("thread_spawn")[0]["request_id"].startswith("req_")


async def test_a_token_that_is_renewed_meanwhile_is_shown_from_the_next_call_on() -> None:
    tokens = ["token-1"]
    async with offering(thread_spawn=echo) as gateway, McpToolbox(gateway.url).open(lambda: tokens[-1]) as tools:
        await tools.call("thread_spawn", {})
        assert gateway.tokens == {"Bearer token-1"}
        tokens.append("token-2")
        gateway.tokens.clear()
        await tools.call("thread_spawn", {})
    assert gateway.tokens == {"Bearer token-2"}


async def test_a_deadline_holds_also_where_the_client_swallows_the_cancellation() -> None:
    released = asyncio.Event()

    async def stubborn(client: Client) -> None:
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()

    async with offering(thread_spawn=echo) as gateway, McpToolbox(gateway.url).open(lambda: "t") as tools:
        assert isinstance(tools, _McpTools)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await tools._ask(stubborn, True)
        released.set()
        assert not (await tools.call("thread_spawn", {})).failed


async def test_a_refusal_is_an_answer() -> None:
    async with offering(thread_spawn=refuse) as gateway, McpToolbox(gateway.url).open(lambda: "t") as tools:
        answer = await tools.call("thread_spawn", {"request_id": "mine"})
    assert (answer.failed, answer.content["error"]["code"]) == (True, "no_live_turn")
    assert gateway.of("thread_spawn") == [{"request_id": "mine"}]


async def test_what_changes_something_names_the_turn_whatever_the_model_says() -> None:
    tools_of = {"add_todos": echo, "get_context": echo, "thread_note": echo}
    async with offering({"get_context"}, **tools_of) as gateway:
        gateway.turned |= {"add_todos", "get_context"}
        async with McpToolbox(gateway.url).open(lambda: "t", "trn_1") as tools:
            for name in tools_of:
                await tools.call(name, {"text": "x"})
            await tools.call("add_todos", {"turn_id": "the one before"})
        async with McpToolbox(gateway.url).open(lambda: "t") as tools:
            await tools.call("add_todos", {})
    assert [call.get("turn_id") for call in gateway.of("add_todos")] == ["trn_1", "trn_1", None]
    assert [call.get("turn_id") for name, call in gateway.calls if name != "add_todos"] == [None, None]


async def test_an_unknown_tool_is_an_answer_too() -> None:
    async with offering(thread_spawn=echo) as gateway, McpToolbox(gateway.url).open(lambda: "t") as tools:
        answer = await tools.call("nothing", {})
    assert answer.failed
    assert answer.content["error"]["code"] in ("tool_refused", "tools_unavailable")


async def test_what_the_service_cannot_do_now_is_asked_again_under_the_same_request_id() -> None:
    left = [3]

    def away(arguments: dict[str, Any]) -> dict[str, Any]:
        left[0] -= 1
        if left[0] > 0:
            return {"ok": False, "error": {"code": "unavailable", "message": "away", "retryable": True}}
        return {"done": True}

    async with offering(thread_spawn=away) as gateway, McpToolbox(gateway.url).open(lambda: "t") as tools:
        assert (await tools.call("thread_spawn", {})).content == {"done": True}
        assert len({call["request_id"] for call in gateway.of("thread_spawn")}) == 1
        assert len(gateway.of("thread_spawn")) == 3


async def test_a_gateway_that_restarts_is_asked_again() -> None:
    offers = offering(thread_status=echo, read_only={"thread_status"})
    async with offers as gateway, McpToolbox(gateway.url).open(lambda: "t") as tools:
        assert not (await tools.call("thread_status", {})).failed
        await gateway.stop()
        asking = asyncio.create_task(tools.call("thread_status", {"text": "again"}))
        await asyncio.sleep(0.15)
        await gateway.start()
        assert (await asking).content == {"said": "again"}


async def test_a_gateway_that_is_not_there_is_an_answer_and_no_tools() -> None:
    gateway = ToolGateway({})
    await gateway.start()
    await gateway.stop()
    async with McpToolbox(gateway.url).open(lambda: "t") as tools:
        assert await tools.offers() == ()
        answer = await tools.call("thread_status", {})
    assert (answer.failed, answer.content["error"]["code"]) == (True, "tools_unavailable")


async def test_a_call_has_a_deadline_and_the_next_one_works() -> None:
    async def hang(arguments: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async with (
        offering(thread_wait=hang, thread_spawn=echo) as gateway,
        McpToolbox(gateway.url, 0.3).open(lambda: "t") as tools,
    ):
        answer = await tools.call("thread_wait", {"timeout_seconds": 0.3})
        assert (answer.failed, answer.content["error"]["code"]) == (True, "deadline_exceeded")
        assert not (await tools.call("thread_spawn", {})).failed


async def test_a_task_that_is_cancelled_in_a_call_leaves_nothing_open() -> None:
    async def hang(arguments: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(30)
        return {}

    async with offering(thread_wait=hang) as gateway:

        async def turn() -> None:
            async with McpToolbox(gateway.url).open(lambda: "t") as tools:
                await tools.call("thread_wait", {"timeout_seconds": 20})

        task = asyncio.create_task(turn())
        async with asyncio.timeout(60):
            while not gateway.calls:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()


async def test_without_a_gateway_there_are_no_tools() -> None:
    async with NoTools().open(lambda: "t") as tools:
        assert await tools.offers() == ()
        assert (await tools.call("x", {})).failed
