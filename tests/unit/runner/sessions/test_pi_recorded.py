"""Recorded sessions of the real Pi become these events, byte for byte (design/streaming.md D2.7; numbers in names)."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.runner.domain.agent import (
    ActivityDelta,
    GateOpened,
    Outcome,
    Status,
    TextDelta,
    TextReset,
    Tool,
    TurnFailure,
    TurnSettled,
    Usage,
)
from tests.unit.runner.sessions.replay import GOLDEN, NAMES, RECORDED, Replay, replay


def settled(done: Replay) -> list[TurnSettled]:
    return [event for event in done.events if isinstance(event, TurnSettled)]


@pytest.mark.parametrize("name", NAMES)
def test_d27_18_a_recorded_log_replays_to_the_golden_events(name: str) -> None:
    assert replay(name).lines == (GOLDEN / f"{name}.jsonl").read_bytes()


@given(name=st.sampled_from(NAMES), sizes=st.lists(st.integers(1, 4_000), min_size=1, max_size=50))
@settings(max_examples=60, deadline=None)
def test_d27_06_pieces_split_anywhere_give_the_same_events(name: str, sizes: list[int]) -> None:
    assert replay(name, itertools.cycle(sizes)).lines == (GOLDEN / f"{name}.jsonl").read_bytes()


@pytest.mark.parametrize("name", ["unicode_separators", "tool"])
def test_d27_06_byte_by_byte(name: str) -> None:
    assert replay(name, itertools.repeat(1)).lines == (GOLDEN / f"{name}.jsonl").read_bytes()


def test_d27_01_thinking_and_text_are_apart_and_in_order() -> None:
    events = replay("hello").events
    assert "".join(e.delta for e in events if isinstance(e, ActivityDelta)) == "Let me think about greeting politely."
    assert "".join(e.delta for e in events if isinstance(e, TextDelta)) == "Hello there, human reader."
    assert {type(e) for e in events[:4]} == {ActivityDelta}


@pytest.mark.parametrize("name", NAMES)
def test_d27_02_08_no_argument_output_or_error_is_on_the_wire(name: str) -> None:
    told = replay(name).lines.decode()
    raw = (RECORDED / f"{name}.jsonl").read_text("utf-8")
    assert re.search(r"SECRET|overloaded|out1|sleep|Command|errorMessage|undefined|not found", told) is None
    assert name != "provider_error" or "SECRET" in raw


def test_d27_03_parallel_tools_end_in_the_order_of_completion() -> None:
    ends = [(e.call_id, e.status) for e in replay("parallel_tools").events if isinstance(e, Tool)][3:]
    assert ends == [("cB", "completed"), ("cC", "failed"), ("cA", "completed")]


def test_d27_04_an_unknown_tool_starts_and_fails() -> None:
    tools = [e.status for e in replay("unknown_tool").events if isinstance(e, Tool)]
    assert tools == ["running", "failed"]


def test_d27_05_line_separators_in_text_survive() -> None:
    (end,) = settled(replay("unicode_separators"))
    assert "\u2028" in end.text or "\u2029" in end.text


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("retry_then_success", Outcome.OK),
        ("retry_exhausted", TurnFailure.PROVIDER_ERROR),
        ("provider_error", TurnFailure.PROVIDER_ERROR),
        ("length_stop", Outcome.TRUNCATED),
        ("abort_in_text", Outcome.ABORTED),
        ("abort_in_tool", Outcome.ABORTED),
        ("abort_in_gate", Outcome.ABORTED),
        ("abort_in_retry_sleep", Outcome.ABORTED),
        ("crash", TurnFailure.CHILD_EXIT),
        ("sigkill_in_tool", TurnFailure.CHILD_EXIT),
        ("steer_and_follow_up", Outcome.OK),
    ],
)
def test_d27_07_to_10_each_prompt_settles_once_however_it_goes(name: str, end: Outcome | TurnFailure) -> None:
    assert [event.end for event in settled(replay(name))] == [end]


def test_d27_07_partial_text_of_each_failed_attempt_is_void() -> None:
    events = replay("retry_exhausted").events
    assert [e.blocks for e in events if isinstance(e, TextReset)] == [(1,), (2,), (3,)]
    assert [e.code for e in events if isinstance(e, Status)] == ["retrying"] * 3


def test_d27_09_every_open_dialog_is_cancelled_before_the_abort() -> None:
    sent = [record["type"] for record in replay("abort_in_gate").sent]
    assert sent == ["prompt", "extension_ui_response", "abort", "get_state"]


def test_d27_11_a_dialog_is_a_gate_and_its_answer_goes_back() -> None:
    done = replay("gate_approve")
    (gate,) = [event for event in done.events if isinstance(event, GateOpened)]
    assert gate.proposal == {"method": "select", "title": "approve?", "options": ["Approve", "Reject"]}
    assert done.sent[1] == {"type": "extension_ui_response", "id": gate.key, "value": "Approve"}


def test_what_a_turn_cost_is_the_sum_of_its_messages() -> None:
    assert [end.usage for end in settled(replay("hello"))] == [Usage(2656, 16)]
    assert all(end.usage.written > 0 for end in settled(replay("tool")))
