"""Tool calls by the real MCP client, of the protocol's two eras, in front of fake services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from mcp import MCPError

from gateway.contexts import services
from gateway.mcp.tools import tools_of
from gateway.transcode.json_encode import encoder_of
from services.kernel import errors
from services.kernel.principal import LOCAL, Principal
from tests.contract.test_rest_routes import filled
from tests.fakes.running_gateway import SECRET, Gateway, Start, bearer
from tests.unit.gateway.mcp_client import ERAS, agent_bearer, mcp_client, refusal_in
from treadle.coordination.v1 import coordination_service_pb2 as pb
from treadle.planning.v1 import planning_service_pb2 as plans

TOOLS = tools_of(services())
SENTINEL = "ZX-SECRET-7"
AGENT = Principal("default", "ses_1", "agent", frozenset({"agent"}))
Done = pb.WaitWorkersResponse.Done


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """With the handshake and without."""
    return str(request.param)


def url(gateway: Gateway) -> str:
    return f"http://{gateway.address}"


async def call(gateway: Gateway, era: str, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    """One call of the session's agent."""
    async with mcp_client(url(gateway), agent_bearer("ses_1"), era=era) as client:
        return await client.call_tool(tool, arguments)


@pytest.mark.parametrize("name", TOOLS)
async def test_every_tool_answers_what_its_service_says(gateway: Gateway, era: str, name: str) -> None:
    tool = TOOLS[name]
    for rpc in tool.rpcs:
        answer = filled(rpc.response)
        gateway.script.answers[rpc.method.name] = [answer] if rpc.method.server_streaming else answer
    result = await call(gateway, era, name)
    assert not result.is_error
    whole = orjson.loads(encoder_of(tool.rpcs[0].response).encode(filled(tool.rpcs[0].response)))
    assert result.structured_content == (whole if len(tool.rpcs) == 1 else {"text": "text\n\ntext"})
    assert orjson.loads(result.content[0].text) == result.structured_content
    asked = dict(gateway.script.asked)
    assert set(asked) == {rpc.method.name for rpc in tool.rpcs}
    for rpc in tool.rpcs:
        assert getattr(asked[rpc.method.name], rpc.session_field) == "sessions/ses_1"
    assert set(gateway.script.callers) == {AGENT}


async def test_tools_are_listed_with_schemas_and_hints(gateway: Gateway, era: str) -> None:
    for headers in (None, agent_bearer("ses_1")):
        async with mcp_client(url(gateway), headers, era=era) as client:
            listed = (await client.list_tools()).tools
            assert client.server_info is None or client.server_info.name == "treadle"
            assert era != "legacy" or "get_context" in str(client.instructions)
        assert [tool.name for tool in listed] == list(TOOLS)
        for tool in listed:
            assert tool.input_schema == TOOLS[tool.name].schema
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint == TOOLS[tool.name].read_only


async def test_arguments_reach_the_service_and_a_request_id_only_where_it_is_given(gateway: Gateway, era: str) -> None:
    spec = {"name": "alpha", "brief": "Übung \U0001f9f5 \u2028 '\"\\", "timeout_seconds": 5}
    await call(gateway, era, "thread_spawn", {"threads": [spec], "request_id": "k1"})
    await call(gateway, era, "thread_note", {"note": "n"})
    [(_, spawn), (_, note)] = gateway.script.asked
    assert spawn == pb.SpawnWorkersRequest(parent="sessions/ses_1", threads=[pb.WorkerSpec(**spec)], request_id="k1")
    assert note == pb.AddNoteRequest(parent="sessions/ses_1", note="n")


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("thread_note", {"note": "n", "color": "red"}, "color"),
        ("thread_note", {"note": "n", "parent": "sessions/ses_2"}, "parent"),
        ("thread_status", {"page_size": 1000}, "page_size"),
        ("get_context", {"session": "ses_2"}, "session"),
        ("thread_spawn", {"threads": [{"name": "a", "brief": "b", "role": "x"}]}, "threads[0].role"),
        ("thread_spawn", {"threads": {"name": "a"}}, "threads"),
        ("thread_spawn", {"threads": [None]}, "threads[0]"),
        ("thread_note", {"note": 5}, "note"),
        ("thread_wait", {"mode": "most"}, "mode"),
        ("thread_wait", {"n": 2**40}, "n"),
        ("thread_collect", {"thread_name": "a", "full_text": "yes"}, "full_text"),
        ("thread_note", {"note": "x\0y"}, "note"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_by_name(
    gateway: Gateway, era: str, tool: str, arguments: dict[str, Any], field: str
) -> None:
    error = refusal_in(await call(gateway, era, tool, arguments))
    assert error["details"]["field"] == field
    assert error["code"] in ("unknown_field", "invalid_field")
    assert error["retryable"] is False
    assert gateway.script.asked == []


@pytest.mark.parametrize(
    ("refusal", "retryable"),
    [
        (errors.Invalid("INVALID_NAME", "bad name", field="name", limit=64), False),
        (errors.NotFound("WORKER_NOT_FOUND", "no such worker", thread_name="a"), False),
        (errors.NotAllowed("NO_LIVE_TURN", "thread_spawn needs a live coordinator turn"), False),
        (errors.Denied("NOT_YOURS", "not yours"), False),
        (errors.Exhausted("TOO_MANY_THREADS", "too many", limit=32), False),
        (errors.TooLarge("VALUE_TOO_LARGE", "too large", field="note", limit=2000), False),
        (errors.Unavailable("STREAMING_UNAVAILABLE", "streaming is away"), True),
    ],
    ids=lambda value: value.reason if isinstance(value, errors.Refusal) else "",
)
@pytest.mark.parametrize("tool", ["thread_spawn", "thread_wait", "get_context"])
async def test_a_refusal_is_a_tool_error_that_a_model_can_read(
    gateway: Gateway, era: str, tool: str, refusal: errors.Refusal, retryable: bool
) -> None:
    for rpc in TOOLS[tool].rpcs:
        gateway.script.answers[rpc.method.name] = refusal
    result = await call(gateway, era, tool)
    error = refusal_in(result)
    assert error == {
        "code": refusal.reason.lower(),
        "message": refusal.message,
        "retryable": retryable,
        "details": {key: str(value) for key, value in refusal.metadata.items()},
    }
    assert orjson.loads(result.content[0].text) == result.structured_content


@pytest.mark.parametrize("tool", ["thread_note", "thread_wait", "get_context"])
async def test_a_bug_is_masked(gateway: Gateway, era: str, tool: str) -> None:
    for rpc in TOOLS[tool].rpcs:
        gateway.script.answers[rpc.method.name] = RuntimeError(f"/etc/passwd {SENTINEL}")
    result = await call(gateway, era, tool)
    assert refusal_in(result) == {"code": "internal", "message": "internal error", "retryable": False, "details": {}}
    assert SENTINEL not in result.model_dump_json()


async def test_without_an_agents_token_a_call_says_how_to_get_one(start: Start, era: str) -> None:
    opened, closed = await start(), await start(auth_secret=SECRET)
    for gateway, headers in ((opened, {}), (closed, bearer("acme", "ann", frozenset({"reviewer"})))):
        async with mcp_client(url(gateway), headers, era=era) as client:
            assert (await client.list_tools()).tools
            error = refusal_in(await client.call_tool("thread_status", {}))
            with pytest.raises(MCPError, match="agent_token"):
                await client.read_resource("treadle://context")
        assert error["code"] == "agent_token_required"
        assert "POST /api/sessions/{id}/agent_token" in error["message"]
        assert gateway.script.asked == []


async def test_the_token_travels_on_and_is_of_its_tenant(start: Start, era: str) -> None:
    gateway = await start(auth_secret=SECRET)
    async with mcp_client(url(gateway), agent_bearer("ses_9", SECRET, "acme"), era=era) as client:
        await client.call_tool("thread_status", {})
    assert gateway.script.callers == [Principal("acme", "ses_9", "agent", frozenset({"agent"}))]
    assert LOCAL not in gateway.script.callers


async def test_get_context_leaves_out_a_service_that_is_away(gateway: Gateway, era: str) -> None:
    answers = gateway.script.answers
    answers["ComposeContext"] = pb.Injection(text="roster")
    for away in (errors.Unavailable("PLANNING_AWAY", "away"), errors.DeadlineExceeded("DEADLINE_EXCEEDED", "slow")):
        answers["ComposePlanContext"] = away
        assert (await call(gateway, era, "get_context")).structured_content == {"text": "roster"}
    answers["ComposePlanContext"] = plans.PlanContext(text="plan")
    assert (await call(gateway, era, "get_context")).structured_content == {"text": "roster\n\nplan"}
    answers["ComposeContext"] = pb.Injection(text="")
    assert (await call(gateway, era, "get_context")).structured_content == {"text": "plan"}
    answers["ComposeContext"] = errors.Unavailable("AWAY", "away")
    assert (await call(gateway, era, "get_context")).structured_content == {"text": "plan"}
    answers["ComposePlanContext"] = errors.NotAllowed("NO_LIVE_TURN", "no turn")
    assert refusal_in(await call(gateway, era, "get_context"))["code"] == "no_live_turn"


async def test_get_context_does_not_wait_for_a_service_that_hangs(start: Start) -> None:
    gateway = await start(gateway_deadline_seconds=0.2)
    answers = gateway.script.answers
    answers |= {"ComposeContext": pb.Injection(text="roster"), "ComposePlanContext": lambda _: asyncio.Event().wait()}
    assert (await call(gateway, "legacy", "get_context")).structured_content == {"text": "roster"}


async def test_a_wait_answers_with_the_last_message_of_its_stream(gateway: Gateway, era: str) -> None:
    gateway.script.answers["WaitWorkers"] = [
        pb.WaitWorkersResponse(worker=pb.Worker(name="alpha")),
        pb.WaitWorkersResponse(done=Done(satisfied=True, ended=1, waited_for=1)),
    ]
    result = await call(gateway, era, "thread_wait", {"names": ["alpha"]})
    assert result.structured_content["done"]["satisfied"] is True
    gateway.script.answers["WaitWorkers"] = []
    assert refusal_in(await call(gateway, era, "thread_wait"))["retryable"] is True


async def test_a_wait_outlives_the_deadline_of_ordinary_calls(start: Start, era: str) -> None:
    gateway = await start(gateway_deadline_seconds=0.1)
    go = asyncio.Event()

    async def wait(_: Any) -> AsyncIterator[Any]:
        await go.wait()
        yield pb.WaitWorkersResponse(done=Done(satisfied=False))

    gateway.script.answers |= {"WaitWorkers": wait, "AddNote": lambda _: asyncio.Event().wait()}
    async with mcp_client(url(gateway), agent_bearer("ses_1"), era=era) as client:
        waiting = asyncio.create_task(client.call_tool("thread_wait", {}))
        late = refusal_in(await client.call_tool("thread_note", {"note": "n"}))
        assert late["code"] == "deadline_exceeded"
        assert not waiting.done()
        go.set()
        assert (await waiting).structured_content["done"]["satisfied"] is False


async def test_pub22_text_that_cannot_be_encoded_is_refused_by_field_and_the_next_call_is_served(
    gateway: Gateway, era: str
) -> None:
    async with mcp_client(url(gateway), agent_bearer("ses_1"), era=era) as client:
        gateway.script.answers["AddNote"] = errors.Invalid("BAD", "bad: x\ud83dy", field="x\ud83dy")
        assert "\ufffd" in refusal_in(await client.call_tool("thread_note", {"note": "n"}))["message"]
        gateway.script.forget()
        for text in ("\u2028\u2029\x85\x1f", "\U0001f468\u200d\U0001f469", "\ufffe\uffff", "a\r\nb"):
            gateway.script.answers["AddNote"] = pb.AddNoteResponse(ok=True, note=pb.Note(text=text))
            result = await client.call_tool("thread_note", {"note": text})
            assert result.structured_content["note"]["text"] == text
            assert gateway.script.asked[-1][1].note == text


async def test_pub23_a_page_of_the_worst_text_comes_whole(gateway: Gateway, era: str) -> None:
    for text in ("\x01" * 262_144, '"\\' * 131_072, "\u2028" * 87_381, "ß" * 131_072):
        gateway.script.answers["CollectResult"] = pb.CollectResultResponse(collected=True, result=text)
        result = await call(gateway, era, "thread_collect", {"thread_name": "a"})
        assert result.structured_content["result"] == text
    gateway.script.answers["CollectResult"] = pb.CollectResultResponse(result="x" * (4 * 1024 * 1024))
    assert refusal_in(await call(gateway, era, "thread_collect", {"thread_name": "a"}))["code"] == "resource_exhausted"


async def test_pub23_a_report_as_long_as_the_service_takes_fits_a_call(gateway: Gateway, era: str) -> None:
    text = "ж" * (3 * 1024 * 1024 // 2)
    result = await call(gateway, era, "thread_report", {"thread_name": "a", "text": text})
    assert not result.is_error
    assert gateway.script.asked[-1][1].text == text
    gateway.script.forget()
    over = refusal_in(await call(gateway, era, "thread_report", {"thread_name": "a", "text": "x" * 4_194_300}))
    assert (over["code"], over["details"]) == ("request_too_large", {"field": "body", "limit": "4194304"})
    assert gateway.script.asked == []


async def test_what_was_told_is_a_resource(gateway: Gateway, era: str) -> None:
    answers = gateway.script.answers
    nothing = {
        "GetInjection": errors.NotFound("INJECTION_NOT_FOUND", "nothing was injected"),
        "GetPlanContext": errors.NotFound("PLAN_CONTEXT_NOT_FOUND", "nothing was told"),
    }
    injected = pb.Injection(text="## Thread mode\n…", role="coordinator", turn_id="trn_2")
    injected.create_time.FromSeconds(20)
    told = plans.PlanContext(text="## Objective and plan\n…", turn_id="trn_2")
    told.create_time.FromSeconds(21)
    late, later = plans.PlanContext(), plans.PlanContext()
    for one, turn, second in ((late, "trn_1", 10), (later, "trn_3", 30)):
        one.CopyFrom(told)
        one.turn_id = turn
        one.create_time.FromSeconds(second)
    async with mcp_client(url(gateway), agent_bearer("ses_1"), era=era) as client:
        [resource] = (await client.list_resources()).resources
        assert (resource.uri, resource.mime_type) == ("treadle://context", "text/markdown")
        for changed, text in (
            ({"GetInjection": injected}, injected.text),
            ({"GetPlanContext": told}, told.text),
            ({"GetInjection": injected, "GetPlanContext": told}, f"{injected.text}\n\n{told.text}"),
            ({"GetInjection": injected, "GetPlanContext": late}, injected.text),
            ({"GetInjection": injected, "GetPlanContext": later}, later.text),
        ):
            answers |= {**nothing, **changed}
            [contents] = (await client.read_resource(resource.uri)).contents
            assert contents.text == text
        asked = dict(gateway.script.asked[-2:])
        assert asked == {
            "GetInjection": pb.GetInjectionRequest(parent="sessions/ses_1"),
            "GetPlanContext": plans.GetPlanContextRequest(name="sessions/ses_1"),
        }
        for method in nothing:
            for refusal, retryable in (
                (nothing[method], False),
                (errors.Unavailable("AWAY", "away"), True),
                (RuntimeError(SENTINEL), False),
            ):
                answers |= {**nothing, method: refusal}
                with pytest.raises(MCPError) as caught:
                    await client.read_resource(resource.uri)
                assert caught.value.data["retryable"] is retryable
                assert SENTINEL not in repr(caught.value)
        with pytest.raises(MCPError, match="no such resource"):
            await client.read_resource("treadle://other")


async def test_a_tool_that_there_is_not_and_a_page_that_there_is_not(gateway: Gateway, era: str) -> None:
    async with mcp_client(url(gateway), agent_bearer("ses_1"), era=era) as client:
        with pytest.raises(MCPError, match="no such tool"):
            await client.call_tool("thread_explode", {})
        with pytest.raises(MCPError, match="no such page"):
            await client.list_tools(cursor="2")
        assert (await client.call_tool("thread_status", {})).structured_content["threads"] == []


async def test_two_agents_at_once_never_get_each_others_answers(gateway: Gateway, era: str) -> None:
    async def echo(request: pb.AddNoteRequest) -> pb.AddNoteResponse:
        await asyncio.sleep(0)
        return pb.AddNoteResponse(ok=True, note=pb.Note(text=f"{request.parent} {request.note}"))

    gateway.script.answers["AddNote"] = echo
    async with (
        mcp_client(url(gateway), agent_bearer("ses_a"), era=era) as a,
        mcp_client(url(gateway), agent_bearer("ses_b"), era=era) as b,
    ):
        calls = [
            (name, n, client.call_tool("thread_note", {"note": str(n)}))
            for n in range(25)
            for name, client in (("a", a), ("b", b))
        ]
        results = await asyncio.gather(*(one for _, _, one in calls))
    for (name, n, _), result in zip(calls, results, strict=True):
        assert result.structured_content["note"]["text"] == f"sessions/ses_{name} {n}"
