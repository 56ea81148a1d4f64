"""Tools of the openai adapter as functions, against an endpoint over real HTTP (C.6, S.8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from services.runner.domain.agent import AgentTask, Outcome, Tool, ToolStatus, TurnFailure, Usage
from services.runner.sessions.openai.agent import Endpoint, OpenAi
from services.runner.sessions.openai.calls import Calls
from tests.fakes.chat_endpoint import ChatEndpoint, Reply, calling, chatting, counted, piece
from tests.fakes.toolbox import FakeToolbox
from tests.unit.runner.sessions.heard import Heard, task

DONE = Reply([piece("Done."), piece(finish="stop")])


def toolbox() -> FakeToolbox:
    refusal = {"ok": False, "error": {"code": "name_taken", "message": "no"}}
    return FakeToolbox({"thread_status": lambda arguments: {"ok": True, "n": 1}, "thread_spawn": lambda _: refusal})


@asynccontextmanager
async def talking(
    tools: FakeToolbox, *replies: Reply, its_task: AgentTask | None = None
) -> AsyncIterator[tuple[Any, Heard, ChatEndpoint]]:
    heard = Heard()
    async with chatting(*replies) as endpoint:
        agent = OpenAi(Endpoint(endpoint.url, retries=0), tools).open(its_task or task(), heard.emit)
        await agent.start()
        yield agent, heard, endpoint
        await agent.stop()


async def test_tools_are_offered_called_and_answered_until_the_model_needs_none() -> None:
    tools = toolbox()
    first = Reply(
        [piece("Let me look."), *calling(("c1", "thread_status", "{}"), ("c2", "thread_spawn", '{"threads":[]}'))]
    )
    async with talking(tools, first, DONE) as (agent, heard, endpoint):
        await agent.prompt("Hi")
        settled = await heard.settled()
        assert (settled.end, settled.text) == (Outcome.OK, "Let me look.\n\nDone.")
        assert tools.calls == [("thread_status", {}), ("thread_spawn", {"threads": []})]
        assert [(tool.name, tool.status) for tool in heard.of(Tool)] == [
            ("thread_status", ToolStatus.RUNNING),
            ("thread_status", ToolStatus.COMPLETED),
            ("thread_spawn", ToolStatus.RUNNING),
            ("thread_spawn", ToolStatus.FAILED),
        ]
    assert [one["function"]["name"] for one in endpoint.asked[0]["tools"]] == ["thread_status", "thread_spawn"]
    messages = endpoint.asked[1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool"]
    assert messages[1]["content"] == "Let me look."
    assert [call["id"] for call in messages[1]["tool_calls"]] == ["c1", "c2"]
    assert messages[2] == {"role": "tool", "tool_call_id": "c1", "content": '{"ok":true,"n":1}'}
    assert "name_taken" in messages[3]["content"]


async def test_without_tools_none_are_offered() -> None:
    async with talking(FakeToolbox(), DONE) as (agent, heard, endpoint):
        await agent.prompt("Hi")
        await heard.settled()
    assert "tools" not in endpoint.asked[0]


async def test_what_it_is_to_know_follows_the_words() -> None:
    tools = FakeToolbox()
    async with talking(tools, DONE) as (agent, heard, endpoint):
        await agent.prompt("Hi", "## Thread mode — coordinator", "trn_1")
        await heard.settled()
    assert tools.turns == ["trn_1"]
    (message,) = endpoint.asked[0]["messages"]
    assert message["content"] == "Hi\n\n<treadle-context>\n## Thread mode — coordinator\n</treadle-context>"


@pytest.mark.parametrize("arguments", ["{", "[]", '"x"'])
async def test_arguments_that_are_no_object_are_told_to_the_model(arguments: str) -> None:
    tools = toolbox()
    async with talking(tools, Reply(calling(("c1", "thread_status", arguments))), DONE) as (agent, heard, endpoint):
        await agent.prompt("Hi")
        assert (await heard.settled()).text == "Done."
    assert tools.calls == []
    assert endpoint.asked[1]["messages"][-1]["content"] == f"The arguments are not a JSON object: {arguments}"
    assert endpoint.asked[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


async def test_a_model_that_never_stops_calling_is_cut_off() -> None:
    tools = toolbox()
    replies = [Reply(calling((f"c{number}", "thread_status", ""))) for number in range(40)]
    async with talking(tools, *replies) as (agent, heard, endpoint):
        await agent.prompt("Hi")
        assert (await heard.settled()).end is Outcome.TRUNCATED
    assert len(tools.calls) == len(endpoint.asked) == 32


async def test_a_steer_in_a_call_leaves_a_conversation_that_can_go_on() -> None:
    tools = toolbox()
    tools.hanging.add("thread_status")
    first = Reply([piece("Wait."), *calling(("c1", "thread_status", "{}"))])
    async with talking(tools, first, DONE) as (agent, heard, endpoint):
        await agent.prompt("Hi")
        async with asyncio.timeout(60):
            await tools.called.wait()
        await agent.steer("Stop that")
        assert (await heard.settled()).text == "Wait.\n\nDone."
        assert heard.of(Tool)[-1].status is ToolStatus.FAILED
        state = await agent.state()
    messages = endpoint.asked[1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    assert messages[2]["content"] == "The call was stopped before it ended."

    other = task(state=state)
    async with talking(toolbox(), DONE, its_task=other) as (agent, heard, endpoint):
        await agent.prompt("And now?")
        await heard.settled()
    assert [message["role"] for message in endpoint.asked[0]["messages"]] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "user",
    ]


async def test_an_abort_in_a_call_is_at_once() -> None:
    tools = toolbox()
    tools.hanging.add("thread_status")
    async with talking(tools, Reply(calling(("c1", "thread_status", "{}")))) as (agent, heard, _):
        await agent.prompt("Hi")
        async with asyncio.timeout(60):
            await tools.called.wait()
        await agent.abort()
        assert (await heard.settled()).end is Outcome.ABORTED


async def test_a_stream_that_breaks_in_a_call_makes_none() -> None:
    tools = toolbox()
    async with talking(tools, Reply(calling(("c1", "thread_status", "{}"))[:1], cut=True)) as (agent, heard, _):
        await agent.prompt("Hi")
        assert (await heard.settled()).end is TurnFailure.PROVIDER_ERROR
    assert tools.calls == []


def test_calls_come_in_pieces() -> None:
    calls = Calls()
    calls.hear([{"index": 0, "id": "c1", "function": {"name": "a", "arguments": ""}}])
    calls.hear([{"index": 1, "id": None, "function": {"name": "b", "arguments": '{"x"'}}])
    calls.hear([{"index": 0, "function": {"arguments": '{"y":1}'}}])
    calls.hear([{"index": 1, "function": {"arguments": ":2}"}}])
    calls.hear(None)
    made = calls.made(iter(range(7, 9)))
    assert [(one.id, one.name, one.arguments) for one in made] == [("c1", "a", '{"y":1}'), ("call_7", "b", '{"x":2}')]


async def test_tokens_are_counted_over_all_answers_of_a_turn_as_the_endpoint_says() -> None:
    first = Reply([*calling(("c1", "thread_status", "{}")), counted(100, 20)])
    second = Reply([piece("Done."), piece(finish="stop"), counted(130, 5)])
    async with talking(toolbox(), first, second, DONE) as (agent, heard, endpoint):
        await agent.prompt("Hi")
        assert (await heard.settled()).usage == Usage(230, 25)
        await agent.prompt("And again")
        assert (await heard.settled(2)).usage == Usage()
    assert endpoint.asked[0]["stream_options"] == {"include_usage": True}
