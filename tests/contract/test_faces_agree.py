"""REST, MCP and gRPC are three faces of one refusal: the same reason, words and metadata, whoever asks by which."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import grpc
import orjson
import pytest
from google.protobuf import message_factory

from gateway.contexts import services
from gateway.mcp.tools import Tool, ToolRpc, tools_of
from gateway.transcode.http_rules import Route, routes_of
from gateway.transcode.json_decode import decoder_of
from gateway.transcode.json_encode import encoder_of
from services.kernel.grpc_errors import refusal_from
from tests.contract.mutations import Desk, open_desk
from tests.stack import Stack, running_stack
from tests.unit.gateway.mcp_client import mcp_client

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
TOOLS = tools_of(services())
ROUTES = {route.rpc: route for route in routes_of(services())}
IN_THE_PATH = {"thread_name"}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("thread_spawn", {}),
    ("thread_spawn", {"threads": [{"name": "a", "brief": "b"}] * 65}),
    ("thread_spawn", {"threads": [{"name": "a", "brief": "b"}], "request_id": "a b"}),
    ("thread_collect", {"thread_name": "nope"}),
    ("thread_collect", {"thread_name": "reg", "version": -1}),
    ("thread_collect", {"thread_name": "reg", "page_token": "zzz"}),
    ("thread_cancel", {"thread_name": "nope"}),
    ("thread_cancel", {"thread_name": "reg", "reason": "x" * 501}),
    ("thread_note", {"note": ""}),
    ("thread_note", {"note": "\U0001f600" * 2001}),
    ("thread_note", {"note": "n", "thread_name": "nope"}),
    ("thread_report", {"thread_name": "reg", "text": " \n"}),
    ("thread_report", {"thread_name": "nope", "text": "t"}),
    ("turn_begin", {"text": ""}),
    ("turn_begin", {"text": "another"}),
    ("turn_end", {"text": "x", "outcome": "splendid"}),
    ("turn_end", {"text": "x", "turn_id": "trn_none"}),
    ("set_objective", {"text": "x" * 501}),
    ("set_objective", {"text": "x", "turn_id": "trn_none"}),
    ("add_todos", {}),
    ("add_todos", {"items": ["x"] * 51}),
    ("add_todos", {"items": ["x", " "]}),
    ("add_todos", {"items": ["x"], "parent_index": 0}),
    ("add_todos", {"items": ["x"], "expected_version": 99}),
    ("toggle_todos", {"indices": []}),
    ("toggle_todos", {"indices": [1, 9]}),
    ("edit_todos", {"edits": [{"index": 1, "text": "x" * 501}]}),
    ("edit_todos", {"edits": [{"index": 1, "text": "x"}, {"index": 1, "text": "y"}]}),
    ("remove_todos", {"indices": [-1]}),
    ("move_todos", {"index": 1}),
    ("move_todos", {"index": 1, "parent_index": 1}),
    ("propose_action", {"title": "t", "capability_name": "nope"}),
    ("propose_action", {"title": " ", "capability_name": "task_create"}),
    ("proposal_status", {"page_token": "zzz"}),
]


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """One Treadle for the tests of this file."""
    async with running_stack(tmp_path_factory.mktemp("faces")) as running:
        yield running


@pytest.fixture(scope="module")
async def desk(stack: Stack) -> AsyncIterator[Desk]:
    """A session that its agent drives; refused calls change nothing on it."""
    async with stack.client(60) as http:
        desk = await open_desk(http)
        minted = await desk.ask("POST", "/sessions/{s}/agent_token", {})
        desk.names["token"] = f"Bearer {minted['token']}"
        http.headers["authorization"] = desk.names["token"]
        yield desk


@pytest.fixture(scope="module")
async def channels(stack: Stack) -> AsyncIterator[dict[str, grpc.aio.Channel]]:
    """Channels to the services, at the addresses that `treadle up` prints."""
    said = stack.process.tail()
    [line] = re.findall(r"^gRPC (.*)$", said, re.MULTILINE)
    opened = {name: grpc.aio.insecure_channel(at) for name, at in re.findall(r"(\w+) (\S+:\d+)", line)}
    yield opened
    for channel in opened.values():
        await channel.close()


async def _by_grpc(channels: dict[str, grpc.aio.Channel], rpc: ToolRpc, desk: Desk, arguments: Any) -> Any:
    message = decoder_of(rpc.request).decode(arguments)
    setattr(message, rpc.session_field, f"sessions/{desk.session}")
    call = channels[rpc.context].unary_unary(
        rpc.rpc,
        request_serializer=message_factory.GetMessageClass(rpc.request).SerializeToString,
        response_deserializer=message_factory.GetMessageClass(rpc.response).FromString,
    )
    return await call(message, metadata=[("authorization", desk.names["token"])], timeout=60)


async def _by_rest(desk: Desk, route: Route, arguments: dict[str, Any]) -> Any:
    named = iter([desk.session, arguments.get("thread_name", "")])
    path = "/" + "/".join(next(named) if segment is None else segment for segment in route.segments)
    in_path = IN_THE_PATH & {variable.field for variable in route.variables}
    body = {name: value for name, value in arguments.items() if name not in in_path}
    told: Any = {"json": body} if route.body else {"params": body}
    return await desk.http.request(route.verb, path, **told)


def _rpc(tool: Tool) -> ToolRpc:
    return tool.rpcs[0]


@pytest.mark.parametrize(("name", "arguments"), REFUSED, ids=lambda value: str(value)[:40])
async def test_a_refusal_says_the_same_by_rest_mcp_and_grpc(
    stack: Stack, desk: Desk, channels: dict[str, grpc.aio.Channel], name: str, arguments: dict[str, Any]
) -> None:
    rpc = _rpc(TOOLS[name])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await _by_grpc(channels, rpc, desk, arguments)
    refusal = refusal_from(caught.value)
    assert refusal is not None
    assert refusal.reason == refusal.reason.upper()
    if type(refusal).__name__ == "Invalid":
        assert refusal.metadata.get("field"), (refusal.reason, refusal.message)

    problem = (await _by_rest(desk, ROUTES[rpc.rpc], arguments)).json()
    assert (problem["reason"], problem["detail"], problem["metadata"]) == (
        refusal.reason,
        refusal.message,
        refusal.metadata,
    )
    async with mcp_client(stack.url, {"authorization": desk.names["token"]}) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert result.structured_content["error"] == {
        "code": refusal.reason.lower(),
        "message": refusal.message,
        "retryable": False,
        "details": refusal.metadata,
    }


@pytest.mark.parametrize("name", ["thread_status", "thread_collect", "get_plan", "list_actions", "proposal_status"])
async def test_an_answer_is_the_same_by_rest_mcp_and_grpc(
    stack: Stack, desk: Desk, channels: dict[str, grpc.aio.Channel], name: str
) -> None:
    rpc = _rpc(TOOLS[name])
    arguments = {"thread_name": "reg"} if name == "thread_collect" else {}
    by_grpc = orjson.loads(encoder_of(rpc.response).encode(await _by_grpc(channels, rpc, desk, arguments)))
    response = await _by_rest(desk, ROUTES[rpc.rpc], arguments)
    assert response.status_code == 200, response.text
    async with mcp_client(stack.url, {"authorization": desk.names["token"]}) as client:
        result = await client.call_tool(name, arguments)
    assert response.json() == result.structured_content == by_grpc
