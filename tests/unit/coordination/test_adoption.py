"""What becomes of a worker whose runner was lost, as a table (C.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.coordination.domain.adoption import Again, Later, Over, Stranded, Verdict, verdict
from services.coordination.domain.worker import Reason

LOST, DONE, CUT, STOPPED = (
    Over(Reason.RUNNER_LOST),
    Over(Reason.COMPLETED),
    Over(Reason.BUDGET_EXHAUSTED),
    Over(Reason.INTERRUPTED),
)


@pytest.mark.parametrize(
    ("turn", "unsaid_first", "unsaid_second", "said"),
    [
        (None, Again(), LOST, LOST),
        ("failed", Again(), LOST, LOST),
        ("ok", DONE, DONE, DONE),
        ("truncated", CUT, CUT, CUT),
        ("aborted", STOPPED, STOPPED, STOPPED),
        ("waiting", Again(), Again(), Again()),
        ("running", Later(), Later(), Later()),
    ],
)
def test_by_turn(turn: str | None, unsaid_first: Verdict, unsaid_second: Verdict, said: Verdict) -> None:
    assert verdict(Stranded(1, said=False, turn=turn)) == unsaid_first
    assert verdict(Stranded(2, said=False, turn=turn)) == unsaid_second
    assert verdict(Stranded(1, said=True, turn=turn)) == said


@pytest.mark.parametrize(
    ("attended", "for_long", "expected"),
    [(True, True, Again()), (True, False, Later()), (False, True, Later()), (False, False, Later())],
)
def test_a_turn_that_runs_is_adopted_once_its_agent_is_known_to_live(
    attended: bool, for_long: bool, expected: Verdict
) -> None:
    assert verdict(Stranded(1, said=True, turn="running", attended=attended, for_long=for_long)) == expected


@pytest.mark.parametrize("turn", [None, "failed", "aborted", "waiting", "running"])
def test_a_worker_that_is_to_stop_has_stopped(turn: str | None) -> None:
    assert verdict(Stranded(1, said=False, stop_reason="timeout", turn=turn)) == Over(Reason.TIMEOUT)


def test_a_result_is_faster_than_a_stop() -> None:
    assert verdict(Stranded(1, said=True, stop_reason="cancelled", turn="ok")) == DONE


@given(
    st.builds(
        Stranded,
        launches=st.integers(1, 5),
        said=st.booleans(),
        stop_reason=st.sampled_from(["", "cancelled", "timeout", "budget_exhausted"]),
        turn=st.sampled_from([None, "running", "waiting", "ok", "truncated", "aborted", "failed"]),
        attended=st.booleans(),
        for_long=st.booleans(),
    )
)
def test_a_worker_that_said_something_is_never_begun_anew(of: Stranded) -> None:
    decided = verdict(of)
    if of.said and decided == Again():
        assert of.turn in ("running", "waiting"), "it goes on by itself, and is watched"
    if of.launches >= 2 and decided == Again():
        assert of.turn in ("running", "waiting")
