"""Where a turn's state is found (C2), when a workspace may be changed, whose objective stays (C5), stretches (C6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.errors import NotAllowed, NotFound, Refusal
from services.planning.domain import limits
from services.planning.domain.restore import OPEN_END, Kept, Live, Stretch, TurnMark, fork, resolve, restorable
from services.planning.domain.workspace import (
    Making,
    Workspace,
    check_changeable,
    check_reorderable,
    keeps_the_users,
    with_objective,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IDLE = Workspace("t", "ses", "ses", Making.READY, NOW, NOW, turn=2, turn_id="trn2")
RUNNING = replace(IDLE, running=True)


def test_c8_2_live_only_for_the_last_turn() -> None:
    assert resolve(2, TurnMark(2, False, True), None) == Live()
    assert resolve(0, None, None) == Live()
    assert resolve(1, TurnMark(1, False, True), TurnMark(2, True, True)) == Kept(2)
    assert resolve(1, TurnMark(1, False, True), TurnMark(7, False, True)) == Kept(7), "the successor, not k + 1"


def test_c8_5_a_missing_snapshot_is_never_the_live_workspace() -> None:
    with pytest.raises(NotAllowed) as caught:
        resolve(1, TurnMark(1, False, True), TurnMark(2, False, False))
    assert caught.value.reason == "RESTORE_UNAVAILABLE"


def test_c8_7_the_last_turn_under_way_is_refused() -> None:
    with pytest.raises(NotAllowed) as caught:
        resolve(2, TurnMark(2, True, True), None)
    assert caught.value.reason == "TURN_IN_PROGRESS"
    with pytest.raises(NotFound):
        resolve(3, None, None)


@given(st.none() | st.tuples(st.booleans(), st.booleans()), st.booleans(), st.booleans())
def test_restorable_says_what_resolve_does(following: tuple[bool, bool] | None, running: bool, kept: bool) -> None:
    this = TurnMark(3, running, kept)
    after = None if following is None else TurnMark(4, *following)
    try:
        resolve(3, this, after)
        answers = True
    except Refusal:
        answers = False
    assert restorable(this, after) is answers


def test_changes_need_a_finished_branch_and_a_turn_that_is_not_over() -> None:
    check_changeable(IDLE, "user", "")
    check_changeable(RUNNING, "agent", "trn2")
    for workspace, by, turn_id, reason in (
        (IDLE, "agent", "", "TURN_ENDED"),
        (IDLE, "user", "trn2", "TURN_ENDED"),
        (RUNNING, "agent", "trn1", "TURN_ENDED"),
        (replace(RUNNING, making=Making.FORKING), "user", "", "BRANCH_FORKING"),
        (replace(IDLE, making=Making.OPENING), "user", "", "BRANCH_FORKING"),
    ):
        with pytest.raises(NotAllowed) as caught:
            check_changeable(workspace, by, turn_id)  # type: ignore[arg-type]
        assert caught.value.reason == reason
    check_reorderable(RUNNING, "agent")
    check_reorderable(IDLE, "user")
    with pytest.raises(NotAllowed):
        check_reorderable(RUNNING, "user")


def test_an_agent_stands_back_only_for_what_a_person_wrote_in_this_turn() -> None:
    by_user = with_objective(RUNNING, "mine", "user", NOW)
    assert keeps_the_users(by_user, "agent", False)
    assert not keeps_the_users(by_user, "agent", True)
    assert not keeps_the_users(by_user, "user", False)
    assert not keeps_the_users(replace(by_user, turn=3), "agent", False)
    assert not keeps_the_users(replace(with_objective(IDLE, "mine", "user", NOW), running=True), "agent", False)
    assert not keeps_the_users(with_objective(by_user, "its", "agent", NOW), "agent", False)


@pytest.mark.parametrize(
    ("text", "line"), [(" a \n\t b\u2028c ", "a b c"), ("   ", ""), ("", ""), ("x" * 500, "x" * 500)]
)
def test_objectives_are_one_line(text: str, line: str) -> None:
    assert limits.objective_text(text) == line


stretches = st.lists(st.integers(1, 5), min_size=0, max_size=4)


@given(stretches, st.data())
def test_a_branch_stands_on_the_turns_up_to_its_fork_and_on_no_others(lengths: list[int], data: st.DataObject) -> None:
    """Branches of branches: who has which turn, against lists that are really copied."""
    own = [Stretch("line0", 0, OPEN_END)]
    copied: list[tuple[str, int]] = []
    for generation, length in enumerate(lengths):
        copied += [(f"line{generation}", (copied[-1][1] if copied else 0) + one) for one in range(1, length + 1)]
        at = data.draw(st.sampled_from([0, *(number for _, number in copied)]))
        own = fork(own, at, f"line{generation + 1}")
        copied = [one for one in copied if one[1] <= at]
        found = [(one.line, n) for one in own for n in range(one.low + 1, min(one.high, 100) + 1)]
        assert [one for one in found if one[0] != f"line{generation + 1}"] == copied
        assert own[-1] == Stretch(f"line{generation + 1}", at, OPEN_END)
