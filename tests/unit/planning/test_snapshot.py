"""What is kept and how it is read again: the round trip (C8-27) and shapes of old (C8-13)."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.planning.domain.snapshot import (
    KeptDocument,
    KeptStep,
    Shelved,
    Snapshot,
    capture,
    documents_json,
    materialise,
    read_documents,
    read_todos,
    sha256,
    todos_json,
)
from services.planning.domain.step import Steps
from tests.unit.planning.plans import ids, plans, words

documents = st.lists(st.builds(KeptDocument, words, st.text(max_size=30), st.booleans()), max_size=4)


@given(st.text(max_size=40), plans(), documents)
def test_c8_27_capture_of_what_was_restored_is_what_was_captured(
    objective: str, steps: Steps, kept: list[KeptDocument]
) -> None:
    snapshot = capture(objective, steps, kept)
    again = materialise(snapshot, ids())
    assert capture(objective, again, kept) == snapshot
    assert {one.id for one in again}.isdisjoint({one.id for one in steps})


@given(plans())
def test_c8_27_the_plan_survives_its_json(steps: Steps) -> None:
    read = read_todos(todos_json(steps), ids())
    assert Snapshot("", read) == capture("", steps, ())
    assert todos_json(materialise(Snapshot("", read), ids())) == todos_json(steps)


@given(st.lists(st.builds(Shelved, words, words, st.booleans()), max_size=5, unique_by=lambda one: one.key))
def test_c8_27_the_list_of_documents_survives_its_json(shelf: list[Shelved]) -> None:
    assert list(read_documents(documents_json(shelf))) == shelf


OLD: list[tuple[Any, list[tuple[int, str, bool]]]] = [
    (None, []),
    ([], []),
    ({"todos": []}, []),
    ([{"text": "a"}], [(0, "a", False)]),
    ([{"text": "a", "depth": True, "done": 1}], [(0, "a", False)]),
    ([{"text": "a", "depth": "2", "done": "true"}], [(0, "a", False)]),
    ([{"text": "a", "depth": -1, "done": True}], [(0, "a", True)]),
    ([{"text": "a", "depth": 1.0}], [(0, "a", False)]),
    ([{"text": 7}, {"done": True}, "x", {"text": "b", "depth": 3}], [(3, "b", False)]),
    ([{"text": "b", "position": 1}, {"text": "a", "position": 0}], [(0, "a", False), (0, "b", False)]),
    ([{"text": "a", "position": 0}, {"text": "b", "position": 0}], [(0, "a", False), (0, "b", False)]),
    ([{"text": "c", "position": 5}, {"text": "b"}], [(0, "b", False), (0, "c", False)]),
    ([{"text": "a\ud83d\0", "later": {}}], [(0, "a\ufffd\ufffd", False)]),
]


@pytest.mark.parametrize(("rows", "expected"), OLD, ids=[str(at) for at in range(len(OLD))])
def test_c8_13_plans_of_old_are_read_tolerantly(rows: object, expected: list[tuple[int, str, bool]]) -> None:
    read = read_todos(None if rows is None else json.dumps(rows).encode(), ids())
    assert [(one.depth, one.text, one.done) for one in read] == expected
    assert len({one.origin_id for one in read}) == len(read)


def test_lineage_that_is_doubled_or_missing_begins_anew() -> None:
    rows = [{"text": "a", "origin_id": "o1"}, {"text": "b", "origin_id": "o1"}, {"text": "c", "origin_id": 3}]
    read = read_todos(orjson.dumps(rows), ids())
    assert read[0] == KeptStep("o1", 0, "a", False)
    assert len({one.origin_id for one in read}) == 3


def test_c8_13_documents_of_old_are_unlocked_and_carry_their_content() -> None:
    rows = [
        {"title": "notes", "content": "text"},
        {"key": "plan", "sha256": "abc", "locked": "yes"},
        {"key": "plan", "sha256": "doubled"},
        {"key": 4},
        {"key": "lone"},
        {"key": "held", "sha256": "def", "locked": True, "position": 0},
    ]
    assert read_documents(orjson.dumps(rows)) == (
        Shelved("notes", sha256(b"text"), False, "text"),
        Shelved("held", "def", True),
        Shelved("plan", "abc", False),
    )
