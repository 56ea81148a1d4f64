"""The allow-list of what an agent says (D1.5), and how it is cut and joined."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.bus import token
from services.kernel.errors import Invalid
from services.kernel.frames import MOST_BYTES
from services.streaming.domain import agent_events, facts
from services.streaming.domain.agent_events import Delta

SECRET = "ZX-SECRET-7"


def body(event: agent_events.AgentEvent | None) -> dict[str, object]:
    assert event is not None
    (line,) = event.lines()
    answer: dict[str, object] = orjson.loads(line)
    return answer


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, f"bash {SECRET}", "na\nme", "ü", "a/b"])
def test_a_tools_name_of_another_charset_is_just_tool(name: str) -> None:
    assert body(agent_events.tool("c1", name, "running"))["name"] == "tool"


@pytest.mark.parametrize("call_id", ["", f"{SECRET} {SECRET}", "x" * 129, "a\nb", "\ud83d"])
def test_a_call_id_of_another_charset_gets_an_alias_that_stays_the_same(call_id: str) -> None:
    first, last = (body(agent_events.tool(call_id, "t", status)) for status in ("running", "failed"))
    assert first["call_id"] == last["call_id"]
    assert str(first["call_id"]).startswith("call-")
    assert SECRET not in str(first)


def test_an_unknown_status_says_nothing() -> None:
    assert agent_events.tool("c", "t", SECRET) is None
    assert agent_events.status(SECRET) is None
    assert body(agent_events.status("retrying")) == {
        "code": "retrying",
        "text": "The model is busy; trying again.",
    }


@given(st.text(alphabet=st.characters(codec=None)))
def test_pub22_any_text_can_be_said_and_reads_back(text: str) -> None:
    said = "".join(orjson.loads(line)["delta"] for line in agent_events.delta("text_delta", text, 0).lines())
    assert "\0" not in said
    said.encode()
    if text.isascii():
        assert said == text.replace("\0", "\ufffd")


@given(st.text(alphabet="a\u2028\x01é\U0001f600", min_size=1, max_size=40), st.integers(1, 3_000))
def test_pub15_a_long_delta_is_cut_into_events_that_make_the_same_text(piece: str, times: int) -> None:
    text = piece * times
    lines = agent_events.delta("text_delta", text, 3).lines()
    assert all(len(line) <= MOST_BYTES for line in lines)
    assert "".join(orjson.loads(line)["delta"] for line in lines) == text
    assert {orjson.loads(line)["block"] for line in lines} == {3}


def test_deltas_join_only_in_one_block_of_one_name_and_up_to_a_size() -> None:
    one = Delta("text_delta", 1, "a")
    assert one.joins(Delta("text_delta", 1, "b"), 1)
    assert not one.joins(Delta("text_delta", 2, "b"), 1)
    assert not one.joins(Delta("activity_delta", 1, "b"), 1)
    assert not one.joins(Delta("text_delta", 1, "b"), agent_events.COALESCED_MOST)


@pytest.mark.parametrize("payload", [{}, {"thread_id": 7, "path": "x", "seq": "1"}, {"path": [1, None]}])
def test_a_fact_of_odd_shape_is_told_without_what_is_odd(payload: dict[str, object]) -> None:
    said = facts.told("thread", payload)
    assert said is not None
    assert said.feeds == frozenset()
    assert orjson.loads(said.line)["seq"] == 0


def test_a_type_that_no_feed_tells_of_is_silent() -> None:
    assert facts.told("secret", {"thread_id": "thr_1"}) is None


@pytest.mark.parametrize("text", ["*", ">", "a.b", "", " ", "a\n", "ü", "x" * 81])
def test_what_is_not_one_token_never_reaches_a_subject(text: str) -> None:
    with pytest.raises(Invalid):
        token(text)
