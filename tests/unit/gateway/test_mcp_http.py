"""`/mcp` as HTTP: what is refused before a tool is called, what ends with its client, and what the drain ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import orjson
import pytest

from gateway.metrics import TOOL_SECONDS
from tests.fakes.running_gateway import SECRET, Gateway, Start
from tests.unit.gateway.mcp_client import ERAS, agent_bearer, mcp_client, refusal_in
from treadle.coordination.v1 import coordination_service_pb2 as pb

BOTH = "application/json, text/event-stream"
HEADERS = {"accept": BOTH, "content-type": "application/json", **agent_bearer("ses_1")}
MODERN = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


def tools_call(tool: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """A call as JSON-RPC."""
    return {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments or {}, **more},
    }


def raw(text: str) -> bytes:
    """A note's call with the arguments as they are written."""
    return (
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"thread_note","arguments":%b}}' % text.encode()
    )


async def post(gateway: Gateway, content: bytes, **headers: str) -> httpx.Response:
    return await gateway.http.post("/mcp", content=content, headers={**HEADERS, **headers})


async def eventually(what: Callable[[], bool], seconds: float = 5) -> None:
    async with asyncio.timeout(seconds):
        while not what():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD"])
async def test_a_stateless_server_has_no_stream_and_no_session_to_delete(gateway: Gateway, method: str) -> None:
    response = await gateway.http.request(method, "/mcp", headers={**HEADERS, "mcp-session-id": "x"})
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def test_clients_that_look_for_an_authorization_server_find_none(gateway: Gateway) -> None:
    for path in ("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server"):
        response = await gateway.http.get(f"/.well-known/{path}")
        assert response.status_code == 404
        assert response.headers["content-type"] == "application/problem+json"


async def test_a_token_that_does_not_verify_is_401_with_a_secret_and_without(start: Start) -> None:
    opened, closed = await start(), await start(auth_secret=SECRET)
    body = orjson.dumps(tools_call("thread_status"))
    agents = [agent_bearer("ses_1", None), agent_bearer("ses_1", SECRET), agent_bearer("ses_1", "x" * 40)]
    for gateway, good in ((opened, 0), (closed, 1)):
        for number, headers in enumerate(agents):
            response = await post(gateway, body, **headers)
            assert response.status_code == (200 if number == good else 401)
            if number != good:
                assert response.headers["www-authenticate"] == "Bearer"
    assert (await closed.http.post("/mcp", content=body, headers={"accept": BOTH})).status_code == 401


async def test_foreign_hosts_and_origins_are_refused_as_on_rest(gateway: Gateway) -> None:
    body = orjson.dumps(tools_call("thread_status"))
    assert (await post(gateway, body, host="evil.example")).status_code == 421
    assert (await post(gateway, body, origin="http://evil.example")).status_code == 403
    assert (await post(gateway, body, **{"sec-fetch-site": "cross-site"})).status_code == 403
    assert gateway.script.asked == []
    assert (await post(gateway, body, origin=f"http://127.0.0.1:{gateway.port}")).status_code == 200


async def test_bodies_that_are_too_large_or_no_json_by_their_own_words(start: Start) -> None:
    gateway = await start(gateway_body_bytes=2048)
    large = await post(gateway, orjson.dumps(tools_call("thread_note", {"note": "x" * 4096})))
    assert (large.status_code, large.json()["reason"]) == (413, "BODY_TOO_LARGE")
    assert large.json()["metadata"]["limit"] == "2048"
    assert (await post(gateway, b"{}", **{"content-type": "text/plain"})).status_code == 415
    assert (await gateway.http.post("/mcp", headers={"accept": BOTH})).status_code == 415
    assert gateway.script.asked == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32600),
        (b"{", -32700),
        (b"[]", -32700),
        (b"null", -32700),
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32700),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600),
        (b'{"jsonrpc":"2.0","id":"x\\ud83dy","method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"x\\ud83dy"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 30 + b"1" + b"}" * 31, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}", -32700),
    ],
)
async def test_what_is_no_message_is_a_json_rpc_error(gateway: Gateway, body: bytes, code: int) -> None:
    for headers in ({}, MODERN):
        response = await post(gateway, body, **headers)
        assert response.status_code == 400
        told = response.json()
        assert (told["jsonrpc"], told["error"]["code"]) == ("2.0", code)
        assert "Traceback" not in response.text
        assert "pydantic" not in response.text


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ('{"note":"x\\ud83dy"}', "note"),
        ('{"note":"x\\u0000y"}', "note"),
        ('{"no\\ud83dte":"x"}', "no\ufffdte"),
        ('{"note":1e999}', "note"),
        ('{"note":99999999999999999999999}', "note"),
        ('{"note":%s}' % ("[" * 40 + "]" * 40), "note" + "[0]" * 23),
    ],
)
async def test_pub22_arguments_that_are_no_text_are_the_tools_to_refuse(
    gateway: Gateway, arguments: str, field: str
) -> None:
    for headers, extra in (({}, {}), (MODERN | {"mcp-name": "thread_note"}, {"_meta": META})):
        body = orjson.loads(raw("{}"))
        body["params"] |= extra
        content = orjson.dumps(body).replace(b'"arguments":{}', b'"arguments":' + arguments.encode())
        response = await post(gateway, content, **headers)
        assert response.status_code == 200, response.text
        result = response.json()["result"]
        assert result["isError"] is True
        assert result["structuredContent"]["error"]["details"]["field"] == field
    assert gateway.script.asked == []


async def test_a_notification_is_taken_and_a_missing_accept_is_told(gateway: Gateway) -> None:
    body = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    assert (await post(gateway, body)).status_code == 202
    refused = await post(gateway, orjson.dumps(tools_call("thread_status")), accept="text/html")
    assert refused.status_code == 406
    unknown = await post(gateway, b'{"jsonrpc":"2.0","id":1,"method":"treadle/secrets"}')
    assert unknown.json()["error"]["code"] == -32601
    wrong = await post(gateway, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}')
    assert wrong.json()["error"] == {"code": -32602, "message": "Invalid request parameters", "data": ""}
    version = await post(gateway, orjson.dumps(tools_call("thread_status")), **{"mcp-protocol-version": "1999-01-01"})
    assert version.status_code == 400
    assert gateway.script.asked == []


async def test_rates_and_open_calls_of_an_agent_are_limited(start: Start) -> None:
    slow = await start(gateway_rate_per_second=1)
    body = orjson.dumps(tools_call("thread_status"))
    statuses = [(await post(slow, body)).status_code for _ in range(4)]
    assert statuses[:2] == [200, 200]
    assert 429 in statuses[2:]
    gateway = await start(gateway_open_streams=1)
    gateway.script.answers["WaitWorkers"] = _for_ever
    async with mcp_client(f"http://{gateway.address}", agent_bearer("ses_1"), seconds=5) as client:
        waiting = asyncio.create_task(client.call_tool("thread_wait", {}))
        await eventually(lambda: gateway.script.open_calls == 1)
        second = await post(gateway, body)
        assert (second.status_code, second.json()["reason"]) == (429, "TOO_MANY_STREAMS")
        waiting.cancel()
    await eventually(lambda: gateway.script.open_calls == 0)


@pytest.mark.parametrize("tool", ["thread_wait", "thread_note"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_leaves_cancels_its_call(gateway: Gateway, tool: str, era: str) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def note(_: Any) -> pb.AddNoteResponse:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    gateway.script.answers |= {"WaitWorkers": _for_ever, "AddNote": note}
    headers, more = ({}, {}) if era == "legacy" else (MODERN | {"mcp-name": tool}, {"_meta": META})
    body = orjson.dumps(tools_call(tool, {} if tool == "thread_wait" else {"note": "n"}, **more))
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    lines = {**HEADERS, **headers, "host": "localhost", "content-length": str(len(body))}
    head = "\r\n".join(["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items()), "", ""])
    writer.write(head.encode() + body)
    if tool == "thread_wait":
        await eventually(lambda: gateway.script.open_calls == 1)
    else:
        await asyncio.wait_for(begun.wait(), 5)
    writer.transport.abort()
    if tool == "thread_wait":
        await eventually(lambda: gateway.script.open_calls == 0)
    else:
        await asyncio.wait_for(ended.wait(), 5)
    assert (await post(gateway, orjson.dumps(tools_call("thread_status")))).status_code == 200
    del reader


@pytest.mark.parametrize("era", ERAS)
async def test_pub25_the_drain_ends_open_calls_with_an_answer(start: Start, era: str) -> None:
    gateway = await start()
    gateway.script.answers |= {"WaitWorkers": _for_ever, "AddNote": lambda _: asyncio.Event().wait()}
    async with mcp_client(f"http://{gateway.address}", agent_bearer("ses_1"), era=era) as client:
        calls = [asyncio.create_task(client.call_tool("thread_wait", {})) for _ in range(5)]
        calls.append(asyncio.create_task(client.call_tool("thread_note", {"note": "n"})))
        await eventually(lambda: gateway.script.open_calls == 5 and len(gateway.script.asked) == 6)
        begin = asyncio.get_running_loop().time()
        draining = asyncio.create_task(gateway.life.drain())
        for result in await asyncio.gather(*calls):
            error = refusal_in(result)
            assert (error["code"], error["retryable"]) == ("shutting_down", True)
        assert asyncio.get_running_loop().time() - begin < 2
    await draining
    await eventually(lambda: gateway.script.open_calls == 0)


async def test_calls_are_counted_by_tool_and_outcome(gateway: Gateway) -> None:
    def count(outcome: str) -> float:
        return sum(
            sample.value
            for metric in TOOL_SECONDS.collect()
            for sample in metric.samples
            if sample.name.endswith("_count") and sample.labels == {"tool": "thread_note", "outcome": outcome}
        )

    before = count("ok"), count("unknown_field")
    await post(gateway, orjson.dumps(tools_call("thread_note", {"note": "n"})))
    await post(gateway, orjson.dumps(tools_call("thread_note", {"nota": "n"})))
    assert (count("ok"), count("unknown_field")) == (before[0] + 1, before[1] + 1)


async def test_a_long_wait_is_kept_alive_and_answered_on_its_stream(gateway: Gateway) -> None:
    go = asyncio.Event()

    async def wait(_: Any) -> AsyncIterator[Any]:
        await go.wait()
        yield pb.WaitWorkersResponse(done=pb.WaitWorkersResponse.Done(satisfied=True))

    gateway.script.answers["WaitWorkers"] = wait
    body = orjson.dumps(tools_call("thread_wait"))
    async with gateway.http.stream("POST", "/mcp", content=body, headers=HEADERS) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "mcp-session-id" not in response.headers
        go.set()
        text = (await response.aread()).decode()
    [data] = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    assert orjson.loads(data)["result"]["structuredContent"]["done"]["satisfied"] is True


async def _for_ever(_: Any) -> AsyncIterator[Any]:
    await asyncio.Event().wait()
    yield
