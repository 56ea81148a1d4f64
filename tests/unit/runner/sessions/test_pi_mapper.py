"""The mapper where no recorded log goes (design/streaming.md D1.5, D2.5, D2.7)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runner.domain.agent import (
    AgentEvent,
    AgentGone,
    GateClosed,
    GateEnd,
    GateKind,
    GateOpened,
    GateReply,
    GateState,
    Outcome,
    Status,
    TextDelta,
    TextReset,
    Tool,
    ToolStatus,
    TurnFailure,
    TurnSettled,
)
from services.runner.sessions.pi.mapper import Mapper, Send, Step


class Told:
    """A mapper with a turn under way, and what came of it."""

    def __init__(self) -> None:
        self.mapper = Mapper()
        self.steps: list[Step] = []
        self.take(self.mapper.prompt("p", "hello"))

    def take(self, steps: list[Step]) -> None:
        self.steps += steps

    def hear(self, type: str, **fields: Any) -> None:
        self.take(self.mapper.record({"type": type, **fields}))

    def says(self, stop: str = "stop", *events: dict[str, Any]) -> None:
        """One message of the model."""
        self.hear("message_start", message={"role": "assistant"})
        for event in events:
            self.hear("message_update", assistantMessageEvent=event)
        self.hear("message_end", message={"role": "assistant", "stopReason": stop})

    def barrier(self) -> None:
        """The newest get_state is answered."""
        newest = [record["id"] for record in self.sent if record["type"] == "get_state"][-1]
        self.hear("response", command="get_state", id=newest, success=True)

    @property
    def sent(self) -> list[dict[str, Any]]:
        return [step.record for step in self.steps if isinstance(step, Send)]

    @property
    def events(self) -> list[AgentEvent]:
        return [step for step in self.steps if not isinstance(step, Send)]


def text(delta: str, index: int = 0) -> dict[str, Any]:
    return {"type": "text_delta", "contentIndex": index, "delta": delta}


def test_agent_end_alone_settles_nothing() -> None:
    told = Told()
    told.says("stop", text("x"))
    told.hear("agent_end")
    assert not [e for e in told.events if isinstance(e, TurnSettled)]
    told.barrier()
    assert told.events[-1] == TurnSettled(Outcome.OK, "x")


def test_d27_07_a_retry_after_text_is_one_reset_and_one_end() -> None:
    told = Told()
    told.says("error", text("part"))
    told.hear("agent_end")
    old = told.sent[-1]["id"]
    told.hear("auto_retry_start", attempt=1, errorMessage="529 SECRET")
    told.hear("response", command="get_state", id=old, success=True)
    told.hear("agent_start")
    told.says("stop", text("good"))
    told.hear("auto_retry_end", success=True)
    told.hear("agent_end")
    told.barrier()
    assert told.events == [
        TextDelta(1, "part"),
        TextReset((1,)),
        Status("retrying"),
        TextDelta(2, "good"),
        TurnSettled(Outcome.OK, "good"),
    ]


def test_a_compaction_after_the_end_is_waited_for() -> None:
    told = Told()
    told.says("stop", text("x"))
    told.hear("agent_end")
    old = told.sent[-1]["id"]
    told.hear("compaction_start", reason="threshold")
    told.hear("response", command="get_state", id=old, success=True)
    told.hear("compaction_end", reason="threshold", willRetry=False)
    assert not [e for e in told.events if isinstance(e, TurnSettled)]
    told.barrier()
    assert [type(e) for e in told.events] == [TextDelta, Status, Status, TurnSettled]


def test_a_compaction_that_retries_is_not_the_end() -> None:
    told = Told()
    told.says("error")
    told.hear("agent_end")
    told.hear("compaction_start", reason="overflow")
    told.hear("compaction_end", reason="overflow", willRetry=True)
    told.hear("agent_start")
    told.says("stop", text("fits"))
    told.hear("agent_end")
    told.barrier()
    assert told.events[-1] == TurnSettled(Outcome.OK, "fits")


def test_d27_19_a_build_with_agent_settled_needs_no_barrier() -> None:
    told = Told()
    told.says("error", text("part"))
    told.hear("agent_end", willRetry=True)
    told.hear("auto_retry_start", attempt=1)
    told.hear("agent_start")
    told.says("stop", text("good"))
    told.hear("auto_retry_end", success=True)
    told.hear("agent_end", willRetry=False)
    assert "get_state" not in [record["type"] for record in told.sent]
    told.hear("agent_settled")
    assert [e for e in told.events if isinstance(e, TurnSettled)] == [TurnSettled(Outcome.OK, "good")]


def test_the_end_of_a_text_block_counts_more_than_its_pieces() -> None:
    told = Told()
    told.says("stop", text("wrong"), {"type": "text_end", "contentIndex": 0, "content": "right"})
    assert told.events == [TextDelta(1, "wrong"), TextReset((1,)), TextDelta(1, "right")]


def test_halves_of_a_pair_that_come_apart_are_joined_and_a_lonely_one_is_replaced() -> None:
    told = Told()
    told.says("stop", text("a\ud83d"), text("\ude00b"), text("\ud83d"), text("c"))
    assert "".join(e.delta for e in told.events if isinstance(e, TextDelta)) == "a😀b\ufffdc"


def test_d27_10_calls_that_are_open_at_the_end_fail_exactly_once() -> None:
    told = Told()
    told.hear("tool_execution_start", toolCallId="one", toolName="bash", args={"command": "SECRET"})
    told.hear("tool_execution_start", toolCallId="one", toolName="bash")
    told.take(told.mapper.gone())
    told.hear("tool_execution_end", toolCallId="one", toolName="bash", isError=False)
    assert told.events == [
        Tool("one", "bash", ToolStatus.RUNNING),
        Tool("one", "bash", ToolStatus.FAILED),
        TurnSettled(TurnFailure.CHILD_EXIT, ""),
        AgentGone(),
    ]


def test_an_exit_while_idle_fails_no_turn() -> None:
    assert Mapper().gone() == [AgentGone()]


def test_names_and_ids_of_another_charset_are_replaced() -> None:
    told = Told()
    told.hear("tool_execution_start", toolCallId="/etc/passwd", toolName="rm -rf /")
    told.hear("tool_execution_end", toolCallId="/etc/passwd", toolName="rm -rf /", isError=True)
    first, last = told.events
    assert isinstance(first, Tool)
    assert isinstance(last, Tool)
    assert (first.name, first.call_id) == (last.name, last.call_id)
    assert first.name == "tool"
    assert "/" not in first.call_id


def test_two_gates_are_open_and_the_answer_of_one_leaves_the_other() -> None:
    told = Told()
    told.hear("extension_ui_request", id="g1", method="confirm", title="Sure?")
    told.hear("extension_ui_request", id="g2", method="input", title="Name?", placeholder="n", timeout=2000)
    told.take(told.mapper.answer("g1", GateReply(confirmed=True)))
    told.take(told.mapper.answer("g1", GateReply(confirmed=False)))
    told.take(told.mapper.steer("s", "go on"))
    assert told.sent[1:] == [
        {"type": "extension_ui_response", "id": "g1", "confirmed": True},
        {"type": "extension_ui_response", "id": "g2", "cancelled": True},
        {"id": "s", "type": "steer", "message": "go on"},
    ]
    assert told.events[1:] == [
        GateOpened("g2", GateKind.DIALOG, {"method": "input", "title": "Name?", "placeholder": "n"}, 7),
        GateClosed("g2", GateEnd.CANCELLED),
    ]
    assert not told.mapper.busy


def test_d27_12_an_idle_agent_is_not_steered() -> None:
    assert Mapper().steer("s", "hi") == []


def test_d27_12_a_refused_prompt_fails_the_turn_without_its_words() -> None:
    told = Told()
    told.hear("response", command="prompt", id="p", success=False, error="No API key SECRET")
    assert told.events == [TurnSettled(TurnFailure.PROVIDER_ERROR, "")]


@pytest.mark.parametrize("method", ["notify", "setStatus", "setWidget", "setTitle", "set_editor_text", None, ["x"]])
def test_what_needs_no_answer_is_dropped(method: Any) -> None:
    told = Told()
    told.hear("extension_ui_request", id="n", method=method, message="SECRET")
    assert told.events == []


def test_a_dialog_outside_a_turn_is_cancelled_at_once() -> None:
    mapper = Mapper()
    steps = mapper.record({"type": "extension_ui_request", "id": "d", "method": "confirm", "title": "?"})
    assert steps == [Send({"type": "extension_ui_response", "id": "d", "cancelled": True})]


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "t", "options": []},
        {"title": "t", "options": ["x" * 60_000]},
        {"title": "treadle.reviewer_decide:nonsense", "prefill": "{}"},
        {"title": "treadle.reviewer_decide:choice", "prefill": "no json"},
        {"title": "treadle.reviewer_decide:dialog", "prefill": "{}"},
    ],
)
def test_a_dialog_that_cannot_be_shown_is_cancelled(fields: dict[str, Any]) -> None:
    told = Told()
    told.hear("extension_ui_request", id="d", method="select", **fields)
    assert told.events == []
    assert told.sent[-1] == {"type": "extension_ui_response", "id": "d", "cancelled": True}


def test_a_gate_of_our_extension_is_a_gate_of_its_kind() -> None:
    told = Told()
    title, prefill = "treadle.reviewer_decide:join-review", '{"joins":[]}'
    told.hear("extension_ui_request", id="d", method="editor", title=title, prefill=prefill)
    assert told.events == [GateOpened("d", GateKind.JOIN_REVIEW, {"joins": []})]
    told.take(told.mapper.answer("d", GateReply(GateState.REFUSED, text="joins is empty")))
    assert told.sent[-1]["value"] == '{"state":"refused","value":null,"text":"joins is empty"}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    [
        "id",
        "message",
        "assistantMessageEvent",
        "toolCallId",
        "toolName",
        "isError",
        "method",
        "title",
        "options",
        "success",
        "delta",
        "contentIndex",
        "willRetry",
        "timeout",
        "prefill",
        "content",
    ]
)
TYPES = st.sampled_from(
    [
        "response",
        "message_start",
        "message_end",
        "message_update",
        "tool_execution_start",
        "tool_execution_end",
        "extension_ui_request",
        "agent_start",
        "agent_end",
        "agent_settled",
        "auto_retry_start",
        "auto_retry_end",
        "compaction_start",
        "compaction_end",
        "new",
    ]
)
METHODS = st.sampled_from(["select", "editor", "confirm"])


@given(st.lists(st.tuples(TYPES, st.dictionaries(FIELDS, JSON | METHODS, max_size=5)), max_size=30))
def test_d27_15_nothing_that_a_record_may_hold_breaks_it(records: list[tuple[str, dict[str, Any]]]) -> None:
    told = Told()
    for kind, fields in records:
        told.hear(kind, **fields)
    told.take(told.mapper.gone())
    assert sum(isinstance(e, TurnSettled) for e in told.events) == 1
    tools = [e for e in told.events if isinstance(e, Tool)]
    assert sum(t.status is ToolStatus.RUNNING for t in tools) * 2 == len(tools)
