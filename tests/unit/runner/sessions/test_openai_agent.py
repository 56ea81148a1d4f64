"""The openai adapter against an endpoint over real HTTP: streams, errors, cuts, silence, steering (S.8)."""

from __future__ import annotations

import logging

import pytest

from services.runner.application.agents import AgentFault
from services.runner.domain.agent import ActivityDelta, AgentTask, Outcome, TextDelta, TurnFailure
from services.runner.sessions.openai.agent import Endpoint, OpenAi, OpenAiAgent
from tests.fakes.chat_endpoint import ChatEndpoint, Reply, chatting, piece
from tests.unit.runner.sessions.heard import Heard, task

HELLO = Reply([piece(role="assistant"), piece("Hel"), piece("lo"), piece(finish="stop")])


async def agent_of(
    endpoint: ChatEndpoint, heard: Heard, its_task: AgentTask | None = None, silence: float = 20.0, retries: int = 0
) -> OpenAiAgent:
    where = Endpoint(endpoint.url, "key-1", silence=silence, retries=retries)
    agent = OpenAi(where).open(its_task or task(), heard.emit)
    assert isinstance(agent, OpenAiAgent)
    await agent.start()
    return agent


async def asked(*replies: Reply, silence: float = 20.0, retries: int = 0) -> tuple[Heard, ChatEndpoint]:
    """One prompt to its end."""
    heard = Heard()
    async with chatting(*replies) as endpoint:
        agent = await agent_of(endpoint, heard, silence=silence, retries=retries)
        await agent.prompt("Hi")
        await heard.settled()
        await agent.stop()
    return heard, endpoint


async def test_an_answer_streams_and_settles() -> None:
    heard, endpoint = await asked(HELLO)
    assert heard.events[:-1] == [TextDelta(1, "Hel"), TextDelta(1, "lo")]
    assert ((await heard.settled()).end, (await heard.settled()).text) == (Outcome.OK, "Hello")
    (body,) = endpoint.asked
    assert body["messages"] == [{"role": "user", "content": "Hi"}]
    assert (body["model"], body["stream"], body["reasoning_effort"]) == ("m", True, "medium")
    assert endpoint.keys == ["bearer key-1"]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_is_activity_and_not_text(name: str) -> None:
    thoughts = [piece(**{name: "let me "}), piece(**{name: "think"}), piece("42", finish="stop")]
    heard, _ = await asked(Reply(thoughts))
    assert heard.of(ActivityDelta) == [ActivityDelta(1, "let me "), ActivityDelta(1, "think")]
    assert (await heard.settled()).text == "42"


async def test_an_answer_that_is_too_long_is_truncated() -> None:
    heard, _ = await asked(Reply([piece("cut"), piece(finish="length")]))
    assert (await heard.settled()).end is Outcome.TRUNCATED


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_an_error_is_a_code_and_its_words_stay_here(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "services")
    heard, endpoint = await asked(Reply(status=status))
    assert [(await heard.settled()).end] == [TurnFailure.PROVIDER_ERROR]
    assert "SECRET" not in repr(heard.events)
    assert len(endpoint.asked) == 1


async def test_retries_are_the_librarys_and_no_more() -> None:
    heard, endpoint = await asked(Reply(status=500), Reply(status=429), HELLO, retries=2)
    assert (await heard.settled()).text == "Hello"
    assert len(endpoint.asked) == 3
    heard, endpoint = await asked(Reply(status=500), Reply(status=500), retries=1)
    assert (await heard.settled()).end is TurnFailure.PROVIDER_ERROR
    assert len(endpoint.asked) == 2


async def test_a_stream_that_breaks_off_fails_and_keeps_what_was_said() -> None:
    heard, endpoint = await asked(Reply([piece("Hel")], cut=True))
    assert ((await heard.settled()).end, (await heard.settled()).text) == (TurnFailure.PROVIDER_ERROR, "Hel")
    assert len(endpoint.asked) == 1


async def test_a_stream_that_ends_without_a_reason_was_cut() -> None:
    heard, _ = await asked(Reply([piece("Hel")], done=False))
    assert (await heard.settled()).end is TurnFailure.PROVIDER_ERROR


async def test_nonsense_instead_of_json_fails() -> None:
    heard, _ = await asked(Reply([{"choices": "nonsense"}]))
    assert (await heard.settled()).end is TurnFailure.PROVIDER_ERROR


@pytest.mark.parametrize("chunks", [[], [piece("Hel")]])
async def test_d27_17_silence_is_given_up(chunks: list[dict[str, object]]) -> None:
    heard, _ = await asked(Reply(chunks, hang=True), silence=0.2)
    assert (await heard.settled()).end is TurnFailure.PROVIDER_TIMEOUT


async def test_nobody_there_fails() -> None:
    heard = Heard()
    async with chatting() as endpoint:
        pass
    agent = await agent_of(endpoint, heard)
    await agent.prompt("Hi")
    assert (await heard.settled()).end is TurnFailure.PROVIDER_ERROR
    await agent.stop()


async def test_an_abort_ends_the_request_and_keeps_what_was_said() -> None:
    heard = Heard()
    async with chatting(Reply([piece("Hel")], hang=True), HELLO) as endpoint:
        agent = await agent_of(endpoint, heard)
        await agent.prompt("Hi")
        await heard.until(TextDelta)
        await agent.abort()
        assert ((await heard.settled()).end, (await heard.settled()).text) == (Outcome.ABORTED, "Hel")
        await endpoint.closed.wait()
        await agent.prompt("Go on")
        await heard.settled(2)
        assert [message["role"] for message in endpoint.asked[1]["messages"]] == ["user", "assistant", "user"]
        await agent.stop()


async def test_steering_asks_again_with_what_stands() -> None:
    heard = Heard()
    async with chatting(Reply([piece("Hel")], hang=True), HELLO) as endpoint:
        agent = await agent_of(endpoint, heard)
        await agent.prompt("Hi")
        await heard.until(TextDelta)
        await agent.steer("In French")
        assert (await heard.settled()).text == "Hel\n\nHello"
        assert [message["content"] for message in endpoint.asked[1]["messages"]] == ["Hi", "Hel", "In French"]
        await agent.stop()
    assert len(heard.of(TextDelta)) == 3


async def test_what_was_said_goes_on_in_another_agent() -> None:
    heard, later = Heard(), Heard()
    async with chatting(HELLO, HELLO) as endpoint:
        agent = await agent_of(endpoint, heard)
        await agent.prompt("Hi")
        await heard.settled()
        other = await agent_of(endpoint, later, task(thinking="off", state=await agent.state()))
        await other.prompt("Again")
        await later.settled()
        assert [message["content"] for message in endpoint.asked[1]["messages"]] == ["Hi", "Hello", "Again"]
        assert "reasoning_effort" not in endpoint.asked[1]
        await agent.stop()
        await other.stop()


@pytest.mark.parametrize("wrong", [task(thinking="loud"), task(model=""), task(state=b"[]")])
async def test_d27_14_what_it_cannot_start_with_is_refused(wrong: AgentTask) -> None:
    with pytest.raises(AgentFault):
        await OpenAi(Endpoint("http://127.0.0.1:1/v1")).open(wrong, Heard().emit).start()
