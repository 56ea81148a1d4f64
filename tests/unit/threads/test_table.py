"""The table, cell by cell: every (state, trigger) pair is allowed with its target, or refused with no event."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from services.kernel.errors import Refusal
from services.threads.domain import commands as c
from services.threads.domain.drafting import Draft
from services.threads.domain.kinds import EMITTED, RESERVED, Kind
from services.threads.domain.proposal import DECOMPOSE, RegisteredAction
from services.threads.domain.states import ACTIVE, TERMINAL, WAIT, State
from services.threads.domain.table import ADDITIONS, REACH, TABLE, Branch, lookup
from services.threads.domain.triggers import Trigger
from tests.unit.threads.stage import USER, Stage, choice, reach, task_draft

CELLS = """
proposed: begin_inference>awaiting_inference dismissed_by_user>dismissed timeout>dismissed parent_force_close>dismissed
awaiting_inference: dismissed_by_user>dismissed parent_force_close>dismissed
inferring_intent: inference_done>?intent_review_or_advance inference_failed>awaiting_intent_clarification dismissed_by_user>dismissed parent_force_close>dismissed
inferring_context: inference_done>?context_review_or_advance inference_failed>awaiting_context_clarification dismissed_by_user>dismissed parent_force_close>dismissed
inferring_action: inference_done>?action_review_or_execute inference_failed>awaiting_action_clarification dismissed_by_user>dismissed parent_force_close>dismissed
awaiting_intent_confirmation: confirmed>awaiting_inference edited>awaiting_inference redirected>awaiting_inference dismissed_by_user>dismissed parent_force_close>dismissed cleanup_requested>cleaning_up
awaiting_context_confirmation: confirmed>awaiting_inference edited>awaiting_inference redirected>awaiting_inference dismissed_by_user>dismissed parent_force_close>dismissed cleanup_requested>cleaning_up
awaiting_intent_clarification: provided>awaiting_inference dismissed_by_user>dismissed parent_force_close>dismissed cleanup_requested>cleaning_up
awaiting_context_clarification: provided>awaiting_inference dismissed_by_user>dismissed parent_force_close>dismissed cleanup_requested>cleaning_up
awaiting_action_clarification: provided>awaiting_confirmation dismissed_by_user>dismissed parent_force_close>dismissed cleanup_requested>cleaning_up
awaiting_confirmation: execute>executing edited>awaiting_confirmation redirected>awaiting_inference rejected>dismissed dismissed_by_user>dismissed parent_force_close>dismissed cleanup_requested>cleaning_up
executing: execution_done>?done_or_review execution_failed>awaiting_redirect parent_force_close>dismissed
awaiting_review: review_accepted>done timeout>done redirected>awaiting_inference dismissed_by_user>dismissed parent_force_close>dismissed cleanup_requested>cleaning_up
awaiting_redirect: provided>awaiting_inference redirected>awaiting_inference dismissed_by_user>dismissed parent_force_close>dismissed cleanup_requested>cleaning_up
monitoring: execution_done>?done_when_all_subthreads_terminal dismissed_by_user>dismissed parent_force_close>dismissed
cleaning_up: cleanup_succeeded>done_cleanup_successful cleanup_failed>done_cleanup_unsuccessful dismissed_by_user>dismissed parent_force_close>dismissed
done_cleanup_unsuccessful: retry_cleanup>cleaning_up accept_cleanup_failure>done dismissed_by_user>dismissed parent_force_close>dismissed
"""  # noqa: E501
ADDED = """
awaiting_inference: inference_claimed>?inferring_target inference_refused>?clarification_of_target action_picked>awaiting_confirmation children_spawned>monitoring
inferring_intent: inference_lost>?retry_or_clarification children_spawned>monitoring
inferring_context: inference_lost>?retry_or_clarification children_spawned>monitoring
inferring_action: inference_lost>?retry_or_clarification children_spawned>monitoring
awaiting_action_clarification: action_picked>awaiting_confirmation provided>?provided_action_or_text hand_off>handed_off children_spawned>monitoring
awaiting_confirmation: action_picked>awaiting_confirmation hand_off>handed_off children_spawned>monitoring
awaiting_intent_confirmation: hand_off>handed_off children_spawned>monitoring
awaiting_context_confirmation: hand_off>handed_off children_spawned>monitoring
awaiting_intent_clarification: hand_off>handed_off children_spawned>monitoring
awaiting_context_clarification: hand_off>handed_off children_spawned>monitoring
awaiting_review: hand_off>handed_off children_spawned>monitoring
awaiting_redirect: hand_off>handed_off children_spawned>monitoring
done_cleanup_unsuccessful: hand_off>handed_off children_spawned>monitoring
monitoring: hand_off>handed_off children_spawned>monitoring
proposed: children_spawned>monitoring
executing: children_spawned>monitoring
cleaning_up: children_spawned>monitoring
"""  # noqa: E501


def parse(cells: str) -> dict[tuple[str, str], str]:
    """The literal above as pairs; `?` marks a branch."""
    parsed = {}
    for line in cells.strip().splitlines():
        state, _, moves = line.partition(": ")
        for move in moves.split():
            trigger, _, to = move.partition(">")
            parsed[state, trigger] = to
    return parsed


def as_text(table: object) -> dict[tuple[str, str], str]:
    """A table of the code in the form of the literal."""
    assert isinstance(table, dict)
    return {
        (str(state), str(trigger)): f"?{cell}" if isinstance(cell, Branch) else str(cell)
        for (state, trigger), cell in table.items()
    }


def test_the_table_is_the_74_cells_of_the_design() -> None:
    assert len(TABLE) == 74
    assert as_text(TABLE) == parse(CELLS)


def test_the_additions_are_those_of_section_0_2() -> None:
    assert as_text(ADDITIONS) == parse(ADDED)


def test_there_are_21_states_in_three_disjoint_groups() -> None:
    assert len(State) == 21
    assert (len(TERMINAL), len(WAIT), len(ACTIVE)) == (4, 9, 8)
    assert frozenset(State) == TERMINAL | WAIT | ACTIVE
    assert State.MONITORING in ACTIVE


def test_there_are_20_triggers_and_six_more() -> None:
    assert len(Trigger) == 26


def test_the_catalogue_has_45_kinds_of_which_22_are_emitted() -> None:
    assert (len(Kind), len(EMITTED), len(RESERVED)) == (45, 22, 23)


def test_terminal_states_have_no_outgoing_cell() -> None:
    assert not [pair for pair in (*TABLE, *ADDITIONS) if pair[0] in TERMINAL]


def test_every_state_can_be_reached_from_proposed() -> None:
    edges: dict[State, set[State]] = {}
    for (state, _), cell in {**TABLE, **ADDITIONS}.items():
        edges.setdefault(state, set()).update(REACH[cell] if isinstance(cell, Branch) else {cell})
    seen, new = set[State](), {State.PROPOSED}
    while new:
        seen |= new
        new = {to for state in new for to in edges.get(state, set())} - seen
    assert seen == frozenset(State)


def test_every_live_state_can_reach_an_end() -> None:
    for state in frozenset(State) - TERMINAL:
        assert lookup(state, Trigger.PARENT_FORCE_CLOSE) is State.DISMISSED


FIRE: dict[Trigger, Callable[[Stage], c.Command]] = {
    Trigger.BEGIN_INFERENCE: lambda _: c.BeginInference(),
    Trigger.INFERENCE_DONE: lambda _: c.CompleteInference({"intent": "x", "context": "y"}, task_draft(), 0.9),
    Trigger.INFERENCE_FAILED: lambda _: c.FailInference("down"),
    Trigger.CONFIRMED: lambda _: c.Accept(),
    Trigger.EDITED: lambda s: c.Edit(action=choice(text="else")) if at_gate(s) else c.Edit(text="else"),
    Trigger.REDIRECTED: lambda _: c.Redirect(feedback="not so"),
    Trigger.PROVIDED: lambda s: c.Provide(action=choice()) if asks_action(s) else c.Provide(text="so"),
    Trigger.REJECTED: lambda _: c.Reject(),
    Trigger.EXECUTE: lambda s: c.Accept(s.cited) if at_gate(s) else c.Accept(c.Citation("prp_0", "0")),
    Trigger.EXECUTION_DONE: lambda s: settle(s) if s.it.state is State.MONITORING else c.FinishExecution(True),
    Trigger.EXECUTION_FAILED: lambda _: c.FinishExecution(False, "boom"),
    Trigger.REVIEW_ACCEPTED: lambda _: c.AcceptReview(),
    Trigger.DISMISSED_BY_USER: lambda _: c.Dismiss(),
    Trigger.TIMEOUT: lambda _: c.Timeout(),
    Trigger.PARENT_FORCE_CLOSE: lambda _: c.ForceClose(),
    Trigger.CLEANUP_REQUESTED: lambda _: c.RequestCleanup(),
    Trigger.CLEANUP_SUCCEEDED: lambda _: c.FinishCleanup(True),
    Trigger.CLEANUP_FAILED: lambda _: c.FinishCleanup(False, "locked"),
    Trigger.RETRY_CLEANUP: lambda _: c.RetryCleanup(),
    Trigger.ACCEPT_CLEANUP_FAILURE: lambda _: c.AcceptCleanupFailure(),
    Trigger.INFERENCE_CLAIMED: lambda _: c.ClaimInference(),
    Trigger.INFERENCE_LOST: lambda _: c.LoseInference(retry=True),
    Trigger.INFERENCE_REFUSED: lambda _: c.RefuseInference("budget_exhausted"),
    Trigger.ACTION_PICKED: lambda _: c.PickAction(choice()),
    Trigger.HAND_OFF: lambda _: c.HandOff("the landlord"),
    Trigger.CHILDREN_SPAWNED: lambda _: c.SpawnChildren(("thr_3",)),
}


ACCEPTS_OTHERWISE = WAIT - {
    State.AWAITING_INTENT_CONFIRMATION,
    State.AWAITING_CONTEXT_CONFIRMATION,
    State.AWAITING_CONFIRMATION,
    State.DONE_CLEANUP_UNSUCCESSFUL,
}


def at_gate(stage: Stage) -> bool:
    return stage.it.state is State.AWAITING_CONFIRMATION


def asks_action(stage: Stage) -> bool:
    return stage.it.state is State.AWAITING_ACTION_CLARIFICATION


def settle(_: Stage) -> c.Command:
    return c.SettleChildren(all_terminal=True)


def staged(state: State, trigger: Trigger) -> Stage:
    """The state, ready for the trigger: a success needs a start, and only decompose spawns while it executes."""
    if state is State.EXECUTING and trigger is Trigger.CHILDREN_SPAWNED:
        decompose = RegisteredAction(DECOMPOSE, irreversibility="low", regret_potential="low")
        return Stage().create().to_gate(task_draft(decompose)).approve()
    stage = reach(state)
    if state is State.EXECUTING and trigger is Trigger.EXECUTION_DONE:
        stage.do(c.StartExecution(stage.cited.proposal_id, stage.cited.digest))
    return stage


@pytest.mark.parametrize(("state", "trigger"), list(product(State, Trigger)))
def test_each_pair_is_allowed_with_its_target_or_refused_with_nothing(state: State, trigger: Trigger) -> None:
    stage = staged(state, trigger)
    before, count = stage.it, len(stage.events)
    expected = parse(ADDED).get((state, trigger)) or parse(CELLS).get((state, trigger))
    if expected is None:
        with pytest.raises(Refusal):
            Draft(before, c.Stamp(USER, stage.now)).move(trigger)
        if trigger is Trigger.CONFIRMED and state in ACCEPTS_OTHERWISE:
            return  # accept means another trigger here, so that no command can say `confirmed`
        with pytest.raises(Refusal):
            stage.do(FIRE[trigger](stage))
        assert stage.it == before
        assert len(stage.events) == count
        return
    moves = [event for event in stage.do(FIRE[trigger](stage)) if event.kind is Kind.STATE_TRANSITION]
    assert [(move.data["from"], move.data["trigger"]) for move in moves] == [(state, trigger)]
    allowed = REACH[Branch(expected[1:])] if expected.startswith("?") else {expected}
    assert stage.it.state in allowed
