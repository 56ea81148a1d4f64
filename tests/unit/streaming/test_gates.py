"""Proposals and answers as properties: what is accepted is rebuilt, and what was not named is gone (D1.6)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.errors import Invalid
from services.streaming.domain import gates
from services.streaming.domain.gates import GateKind
from services.streaming.domain.turn_scan import TurnScan

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
FIELDS: dict[GateKind, set[str]] = {
    GateKind.CHOICE: {"question", "options", "allow_other"},
    GateKind.JOIN_REVIEW: {"joins"},
    GateKind.PHASE_SUMMARY: {"version", "phase", "summary", "open_questions"},
    GateKind.DIALOG: {"method", "title", "message", "options", "placeholder", "prefill"},
}
GOOD: dict[GateKind, dict[str, Any]] = {
    GateKind.CHOICE: {"question": "?", "options": [{"id": "a", "label": "A"}], "allow_other": False},
    GateKind.JOIN_REVIEW: {"joins": [{"left": "a", "right": "b", "type": "inner"}]},
    GateKind.PHASE_SUMMARY: {"version": 2, "phase": "p", "summary": "s"},
    GateKind.DIALOG: {"method": "select", "title": "t", "options": ["a"]},
}


def tried(kind: GateKind, given: dict[str, Any]) -> tuple[dict[str, Any], Invalid | None]:
    """What is built of it, or why nothing is."""
    try:
        return gates.proposal(kind, given), None
    except Invalid as refusal:
        return {}, refusal


@given(kind=st.sampled_from(list(GateKind)), name=st.sampled_from(sorted(set().union(*FIELDS.values()))), value=JSON)
def test_any_value_of_any_field_is_refused_by_its_name_or_kept_in_form(kind: GateKind, name: str, value: Any) -> None:
    built, refusal = tried(kind, {**GOOD[kind], name: value})
    if refusal is not None:
        assert refusal.reason == "INVALID_PROPOSAL"
        assert refusal.metadata["field"].partition("[")[0] in FIELDS[kind] | {"proposal"}
        return
    assert set(built) <= FIELDS[kind]
    assert gates.proposal(kind, orjson.loads(orjson.dumps(built))) == built


@given(kind=st.sampled_from(list(GateKind)), extra=st.dictionaries(st.text(min_size=1), JSON, max_size=5))
def test_fields_that_are_not_the_kinds_are_left_out(kind: GateKind, extra: dict[str, Any]) -> None:
    foreign = {name: value for name, value in extra.items() if name not in FIELDS[kind]}
    nested = {**GOOD[kind], **foreign}
    if kind is GateKind.JOIN_REVIEW:
        nested["joins"] = [{**GOOD[kind]["joins"][0], "secret": foreign}]
    assert gates.proposal(kind, nested) == GOOD[kind]


@given(JSON)
def test_anything_that_is_no_object_is_refused(value: Any) -> None:
    if not isinstance(value, dict):
        with pytest.raises(Invalid):
            gates.proposal(GateKind.DIALOG, value)


def test_a_proposal_has_a_most() -> None:
    joins = [{"left": "x" * 500, "right": "y" * 500, "type": "inner"}] * 60
    with pytest.raises(Invalid, match="at most"):
        gates.proposal(GateKind.JOIN_REVIEW, {"joins": joins})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["running", "completed", "failed"])), max_size=30))
def test_whatever_an_agent_says_a_call_has_one_start_and_one_end(said: list[tuple[str, str]]) -> None:
    scan, told = TurnScan(), []
    for call, status in said:
        if scan.admits(call, status):
            scan.said("tool", {"call_id": call, "name": "t", "status": status})
            told.append((call, status))
    told += [(call, "failed") for call, _ in scan.open_calls]
    for call in "abc":
        mine = [status for one, status in told if one == call]
        assert mine.count("running") <= 1
        assert len([one for one in mine if one != "running"]) == (1 if mine else 0)


def test_text_is_what_was_not_reset() -> None:
    scan = TurnScan()
    for block, delta in ((1, "b"), (0, "a"), (2, "c")):
        scan.said("text_delta", {"block": block, "delta": delta})
    scan.said("text_reset", {"blocks": [1]})
    scan.said("text_delta", {"block": 1, "delta": "B"})
    assert scan.text == "aBc"
