"""What endpoints and their models say that nobody asked for: each ends in a defined way (S.8, PUB18, PUB22).

The chunks are those of the library's own types (`openai.types.chat.ChatCompletionChunk`), or what endpoints that only
resemble the original have been seen to send instead.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from openai.types.chat import ChatCompletionChunk

from services.runner.domain.agent import Outcome, Status, Tool, ToolStatus, TurnFailure, Usage
from services.runner.sessions.openai.agent import Endpoint, OpenAi
from services.runner.sessions.openai.calls import CALLS_MOST
from tests.fakes.chat_endpoint import ChatEndpoint, Reply, calling, chatting, counted, piece
from tests.fakes.toolbox import FakeToolbox
from tests.unit.runner.sessions.heard import Heard, task

SECRET = "ZX-SECRET-7"
DONE = Reply([piece("Done."), piece(finish="stop")])
STOP = piece(finish="tool_calls")


def call(index: int | None = None, call_id: str | None = None, name: str | None = None, text: Any = None) -> Any:
    """A chunk with one piece of a tool call; what is None is not there."""
    function = {key: value for key, value in (("name", name), ("arguments", text)) if value is not None}
    whole = {"index": index, "id": call_id, "function": function or None}
    return piece(tool_calls=[{key: value for key, value in whole.items() if value is not None}])


def letters(text: str) -> list[Any]:
    """The arguments, a character a chunk."""
    return [call(0, text=letter) for letter in text]


@dataclass
class Turn:
    """One prompt to its end."""

    heard: Heard
    endpoint: ChatEndpoint
    tools: FakeToolbox
    state: bytes | None = None

    @property
    def told(self) -> list[str]:
        """What the model was told of its calls."""
        return [one["content"] for one in self.endpoint.asked[-1]["messages"] if one["role"] == "tool"]

    @property
    def kept(self) -> list[Any]:
        """The calls as they are sent back."""
        said = [one for one in self.endpoint.asked[-1]["messages"] if one.get("tool_calls")]
        return [(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in said[-1]["tool_calls"]]


async def asked(*replies: Reply, retries: int = 0, state: bytes | None = None) -> Turn:
    heard = Heard()
    tools = FakeToolbox({"get_plan": lambda arguments: {"ok": True, "got": arguments}})
    async with chatting(*replies) as endpoint:
        agent = OpenAi(Endpoint(endpoint.url, retries=retries), tools).open(task(state=state), heard.emit)
        await agent.start()
        await agent.prompt("Hi")
        await heard.settled()
        kept = await agent.state()
        await agent.stop()
    return Turn(heard, endpoint, tools, kept)


@dataclass
class Said:
    """Chunks of an answer, and what they are taken for: (arguments of the calls that are made, calls as sent back)."""

    chunks: list[Any]
    made: list[dict[str, Any]]
    kept: list[Any] = field(default_factory=list)


CALLS = {
    "two calls in one chunk": Said(
        [
            piece(
                tool_calls=[
                    {
                        "index": 0,
                        "id": "a",
                        "type": "function",
                        "function": {"name": "get_plan", "arguments": '{"n":1}'},
                    },
                    {
                        "index": 1,
                        "id": "b",
                        "type": "function",
                        "function": {"name": "get_plan", "arguments": '{"n":2}'},
                    },
                ]
            )
        ],
        [{"n": 1}, {"n": 2}],
        [("a", "get_plan", '{"n":1}'), ("b", "get_plan", '{"n":2}')],
    ),
    "indices with a gap, the later one first": Said(
        [call(4, "b", "get_plan", '{"n":2}'), call(1, "a", "get_plan", '{"n":1}')],
        [{"n": 1}, {"n": 2}],
    ),
    "interleaved": Said(
        [
            call(0, "a", "get_plan"),
            call(1, "b", "get_plan"),
            call(0, text='{"n"'),
            call(1, text="{}"),
            call(0, text=":1}"),
        ],
        [{"n": 1}, {}],
    ),
    "a character a chunk, within an escape and a pair": Said(
        [call(0, "a", "get_plan"), *letters('{"x":"\\ud83d\\ude00 \\u00e4ö"}')], [{"x": "😀 äö"}]
    ),
    "a pair parted between chunks": Said(
        [call(0, "a", "get_plan", '{"x":"\ud83d'), call(0, text='\ude00"}')],
        [{"x": "😀"}],
        [("a", "get_plan", '{"x":"😀"}')],
    ),
    "half of a pair": Said([call(0, "a", "get_plan", '{"x":"\ud83d"}')], [{"x": "\ufffd"}]),
    "no arguments": Said([call(0, "a", "get_plan")], [{}], [("a", "get_plan", "{}")]),
    "blank arguments": Said([call(0, "a", "get_plan", " \n")], [{}], [("a", "get_plan", "{}")]),
    "an object instead of its JSON": Said(
        [call(0, "a", "get_plan", {"n": 1})], [{"n": 1}], [("a", "get_plan", '{"n":1}')]
    ),
    "no index, one call a chunk": Said(
        [call(None, "a", "get_plan", "{}"), call(None, "b", "get_plan", '{"n":2}')], [{}, {"n": 2}]
    ),
    "no index, in pieces": Said([call(None, "a", "get_plan", '{"n"'), call(text=":1}")], [{"n": 1}]),
    "the same index for each": Said(
        [call(0, "a", "get_plan", '{"n":1}'), call(0, "b", "get_plan", '{"n":2}')], [{"n": 1}, {"n": 2}]
    ),
    "id and name in each chunk": Said(
        [call(0, "a", "get_plan", '{"n"'), call(0, "a", "get_plan", ":1}")], [{"n": 1}], [("a", "get_plan", '{"n":1}')]
    ),
    "no ids": Said([call(0, None, "get_plan"), call(1, "", "get_plan")], [{}, {}]),
    "the same id twice": Said([call(0, "a", "get_plan"), call(1, "a", "get_plan")], [{}, {}]),
    "calls, and stop as the reason": Said([call(0, "a", "get_plan"), piece(finish="stop")], [{}]),
    "a key twice": Said([call(0, "a", "get_plan", '{"n":1,"n":2}')], [{"n": 2}]),
}


@pytest.mark.parametrize("name", CALLS)
async def test_calls_however_they_come(name: str) -> None:
    said = CALLS[name]
    turn = await asked(Reply([*said.chunks, STOP]), DONE)
    assert (await turn.heard.settled()).text == "Done."
    assert [arguments for _, arguments in turn.tools.calls] == said.made
    assert [orjson.loads(told)["got"] for told in turn.told] == said.made
    assert not said.kept or turn.kept == said.kept
    ids = [call_id for call_id, _, _ in turn.kept]
    assert all(ids)
    assert len(set(ids)) == len(said.made)
    assert all(isinstance(orjson.loads(arguments), dict) for _, _, arguments in turn.kept)


WRONG = {
    "cut off arguments": (call(0, "a", "get_plan", '{"n":'), "The arguments are not a JSON object: "),
    "two objects": (call(0, "a", "get_plan", "{}{}"), "The arguments are not a JSON object: "),
    "no number of JSON": (call(0, "a", "get_plan", '{"n":NaN}'), "The arguments are not a JSON object: "),
    "a list": (call(0, "a", "get_plan", "[1]"), "The arguments are not a JSON object: [1]"),
    "null": (call(0, "a", "get_plan", "null"), "The arguments are not a JSON object: null"),
    "deeper than can be": (call(0, "a", "get_plan", '{"a":' * 5_000), "The arguments are not a JSON object: "),
    "an unknown tool": (call(0, "a", "drop_tables", "{}"), "There is no such tool. There are: get_plan."),
    "no name": (call(0, "a", None, "{}"), "There is no such tool. There are: get_plan."),
    "a name of other letters": (call(0, "a", "get plan\ud83d\0", "{}"), "There is no such tool. There are: get_plan."),
    "a name without end": (call(0, "a", "x" * 10_000, "{}"), "There is no such tool. There are: get_plan."),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_call_is_told_to_the_model_and_sent_back_in_a_form_that_is_taken(name: str) -> None:
    chunk, words = WRONG[name]
    turn = await asked(Reply([chunk, STOP]), DONE)
    assert (await turn.heard.settled()).text == "Done."
    assert turn.tools.calls == []
    assert [tool.status for tool in turn.heard.of(Tool)] == [ToolStatus.RUNNING, ToolStatus.FAILED]
    (told,), ((_, kept_name, arguments),) = turn.told, turn.kept
    assert told.startswith(words)
    assert len(told) < 600
    assert (kept_name.replace("_", "").isalnum(), len(kept_name) <= 64, arguments) == (True, True, "{}")
    assert turn.state is not None


async def test_calls_beyond_the_limit_are_not_made_and_said_so() -> None:
    most = Reply(calling(*((f"c{number}", "get_plan", "{}") for number in range(CALLS_MOST + 3))))
    turn = await asked(most, DONE)
    assert (len(turn.tools.calls), len(turn.told)) == (CALLS_MOST, CALLS_MOST + 3)
    assert turn.told[-1] == f"Not made: at most {CALLS_MOST} calls in one answer."


ENDS: dict[str, tuple[Reply, Outcome | TurnFailure, str]] = {
    "a refusal is text": (
        Reply([piece(refusal="I will "), piece(refusal="not."), piece(finish="stop")]),
        Outcome.OK,
        "I will not.",
    ),
    "length": (Reply([piece("half"), piece(finish="length")]), Outcome.TRUNCATED, "half"),
    "length within a call": (Reply([call(0, "a", "get_plan", '{"n"'), piece(finish="length")]), Outcome.TRUNCATED, ""),
    "a filter": (Reply([piece("half"), piece(finish="content_filter")]), Outcome.TRUNCATED, "half"),
    "a reason nobody knows": (Reply([piece("whole", finish="eos")]), Outcome.OK, "whole"),
    "error as the reason": (Reply([piece("half"), piece(finish="error")]), TurnFailure.PROVIDER_ERROR, "half"),
    "nothing at all": (Reply([]), TurnFailure.PROVIDER_ERROR, ""),
    "no reason": (Reply([piece("half")]), TurnFailure.PROVIDER_ERROR, "half"),
    "an error in mid-stream": (
        Reply([piece("half"), {"error": {"message": SECRET, "code": 502}}]),
        TurnFailure.PROVIDER_ERROR,
        "half",
    ),
    "an error event": (
        Reply(raw=b'event: error\ndata: {"error": "%s"}\n\n' % SECRET.encode()),
        TurnFailure.PROVIDER_ERROR,
        "",
    ),
    "no JSON": (Reply(raw=b"data: %s\n\n" % SECRET.encode()), TurnFailure.PROVIDER_ERROR, ""),
    "no UTF-8": (Reply(raw=b'data: {"choices": "\xff\xfe"}\n\n'), TurnFailure.PROVIDER_ERROR, ""),
    "no stream": (
        Reply(raw=b'{"choices": [{"message": {"content": "%s"}}]}' % SECRET.encode()),
        TurnFailure.PROVIDER_ERROR,
        "",
    ),
    "comments and empty lines": (
        Reply(
            raw=b': ping\n\n\ndata: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        ),
        Outcome.OK,
        "x",
    ),
    "chunks without choices": (
        Reply([{"id": "c"}, {"choices": None}, {"choices": []}, piece("x", finish="stop")]),
        Outcome.OK,
        "x",
    ),
    "a choice without a delta": (
        Reply([piece("x"), {"choices": [{"index": 0, "finish_reason": "stop"}]}]),
        Outcome.OK,
        "x",
    ),
    "content in parts": (Reply([piece(content=["parts"]), piece("x", finish="stop")]), Outcome.OK, "x"),  # type: ignore[arg-type]
    "a pair parted": (Reply([piece("\ud83d"), piece("\ude00"), piece(finish="stop")]), Outcome.OK, "😀"),
    "half of a pair, then others": (
        Reply([piece("a\ud83d"), piece("b"), piece(finish="stop")]),
        Outcome.OK,
        "a\ufffdb",
    ),
    "half of a pair at the end": (Reply([piece("a\ud83d", finish="stop")]), Outcome.OK, "a\ufffd"),
}


@pytest.mark.parametrize("name", ENDS)
async def test_an_answer_ends_in_a_defined_way(name: str, caplog: pytest.LogCaptureFixture) -> None:
    reply, end, text = ENDS[name]
    turn = await asked(reply)
    settled = await turn.heard.settled()
    assert (settled.end, settled.text) == (end, text)
    assert turn.heard.text == text
    assert turn.tools.calls == []
    text.encode()
    assert SECRET not in repr(turn.heard.events) + caplog.text
    assert SECRET.encode() not in (turn.state or b"")


REFUSED = [
    (400, {"message": SECRET, "code": "invalid_api_key"}),
    (401, {"message": f"Incorrect API key: {SECRET}", "code": "invalid_api_key"}),
    (403, {"message": SECRET}),
    (404, {"message": SECRET, "code": "model_not_found"}),
    (422, {"message": SECRET}),
    (429, {"message": SECRET, "code": "insufficient_quota"}),
    (500, {"message": SECRET}),
    (503, {}),
]


@pytest.mark.parametrize(("status", "error"), REFUSED)
async def test_a_refusal_of_the_endpoint_is_a_code_and_nothing_else(
    status: int, error: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    turn = await asked(Reply(status=status, error=error))
    assert (await turn.heard.settled()).end is TurnFailure.PROVIDER_ERROR
    assert SECRET not in repr(turn.heard.events) + caplog.text
    assert turn.heard.of(Status) == []


async def test_retry_after_is_heeded_and_an_abort_in_it_is_at_once() -> None:
    turn = await asked(Reply(status=429, retry_after="Retry-After: 0.01"), DONE, retries=1)
    assert (await turn.heard.settled()).text == "Done."
    heard = Heard()
    async with chatting(Reply(status=429, retry_after="Retry-After: 100")) as endpoint:
        agent = OpenAi(Endpoint(endpoint.url, retries=1)).open(task(), heard.emit)
        await agent.start()
        await agent.prompt("Hi")
        async with asyncio.timeout(30):
            while not endpoint.asked:
                await asyncio.sleep(0.01)
        await agent.abort()
        assert (await heard.settled()).end is Outcome.ABORTED
        await agent.stop()


async def test_a_retry_after_that_is_too_long_is_not_waited_for() -> None:
    turn = await asked(Reply(status=429, retry_after="Retry-After: 86400"), retries=2)
    assert (await turn.heard.settled()).end is TurnFailure.PROVIDER_ERROR
    assert len(turn.endpoint.asked) == 1


OVERFLOWS: list[tuple[int, dict[str, Any]]] = [
    (400, {"message": f"{SECRET} maximum context length is 8192 tokens", "code": "context_length_exceeded"}),
    (400, {"message": "This model's maximum context length is 4096 tokens", "type": "BadRequestError", "code": 400}),
    (400, {"message": "the request exceeds", "type": "exceed_context_size_error", "code": 400}),
    (413, {"message": "prompt is too long: 208310 tokens > 200000 maximum"}),
]


@pytest.mark.parametrize(("status", "error"), OVERFLOWS)
async def test_a_conversation_that_is_too_long_goes_on_without_its_oldest_part_and_says_so(
    status: int, error: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    before = [{"role": role, "content": f"{n}"} for n in range(8) for role in ("user", "assistant")]
    too_long = Reply(status=status, error=error)
    turn = await asked(too_long, too_long, DONE, state=orjson.dumps({"messages": before}))
    assert (await turn.heard.settled()).text == "Done."
    assert turn.heard.of(Status) == [Status("compacting"), Status("compacted")] * 2
    sent = [body["messages"] for body in turn.endpoint.asked]
    assert [messages[0]["content"] for messages in sent] == ["0", "4", "6"]
    assert all(messages[0]["role"] == "user" and messages[-1]["content"] == "Hi" for messages in sent)
    assert SECRET not in repr(turn.heard.events) + caplog.text


async def test_words_that_are_too_long_by_themselves_fail_the_turn() -> None:
    too_long = Reply(status=400, error={"message": "x", "code": "context_length_exceeded"})
    turn = await asked(too_long, too_long, state=orjson.dumps({"messages": [{"role": "user", "content": "0"}]}))
    assert (await turn.heard.settled()).end is TurnFailure.PROVIDER_ERROR
    assert [len(body["messages"]) for body in turn.endpoint.asked] == [2, 1]


@pytest.mark.parametrize(
    ("usage", "counted_as"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3}, Usage(7, 3)),
        ({"prompt_tokens": None, "completion_tokens": -4}, Usage()),
        ({"prompt_tokens": "many", "completion_tokens": 1.5}, Usage()),
        ({"prompt_tokens": 2**70, "completion_tokens": True}, Usage(2**53, 0)),
        ({}, Usage()),
        (None, Usage()),
    ],
)
async def test_tokens_are_counted_where_the_endpoint_counts_them(usage: Any, counted_as: Usage) -> None:
    turn = await asked(Reply([piece("x", finish="stop"), counted(0, 0) | {"usage": usage}]))
    settled = await turn.heard.settled()
    assert (settled.end, settled.usage) == (Outcome.OK, counted_as)


def test_the_endpoint_of_these_tests_speaks_as_the_librarys_types_do() -> None:
    chunks = [piece("x"), piece(refusal="no"), *calling(("a", "get_plan", "{}")), counted(1, 2), piece(finish="length")]
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk, strict=True)
