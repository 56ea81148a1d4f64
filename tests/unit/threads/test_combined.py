"""Combined inference: one call, three guesses, the same gates (golden scenario 23)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.threads.domain import commands as c
from services.threads.domain.autonomy import PRESETS, Policy
from services.threads.domain.deciding_combined import wants_combined
from services.threads.domain.effects import EnqueueExecution, EnqueueInference, effects
from services.threads.domain.events import Event
from services.threads.domain.evolve import rebuild
from services.threads.domain.kinds import Kind
from services.threads.domain.states import State, Target
from services.threads.domain.timing import Timing
from tests.unit.threads.stage import RUNNER, Stage, task_draft

END = replace(PRESETS["end_to_end"], combined_inference=True)
PLAN = replace(PRESETS["plan_then_review"], combined_inference=True)
ASKS = Policy(combined_inference=True)


def answer(stage: Stage, *, intent: float = 0.9, context: float = 0.9, action: float = 0.9) -> tuple[Event, ...]:
    """A runner answers all three."""
    stage.do(c.ClaimInference(), RUNNER)
    assert wants_combined(stage.it)
    return stage.do(
        c.CompleteCombined(
            c.CompleteInference({"intent": "fix the tap"}, confidence=intent, cost_usd=0.1),
            c.CompleteInference({"context": "a plumber"}, confidence=context),
            c.CompleteInference(draft=task_draft(), confidence=action),
        ),
        RUNNER,
    )


def kinds(events: tuple[Event, ...]) -> list[str]:
    return [event.kind for event in events]


def test_high_confidence_goes_to_the_gate_with_three_guesses_one_meta_and_three_verdicts() -> None:
    stage = Stage().create(PLAN)
    events = answer(stage)
    assert kinds(events)[:4] == ["intent_inferred", "context_inferred", "action_inferred", "combined_inferred_meta"]
    verdicts = [event.data for event in events if event.kind is Kind.AUTO_ADVANCE_DECISION]
    assert [(data["target"], data["advance"]) for data in verdicts] == [
        ("intent", True),
        ("context", True),
        ("action", False),
    ]
    assert verdicts[2]["irreversibility"] == "low"
    assert (stage.it.state, stage.it.proposal is not None) == (State.AWAITING_CONFIRMATION, True)
    assert effects(events, stage.it, Timing()) == ()
    assert stage.it.spent_usd == pytest.approx(0.1)
    assert rebuild(stage.events) == stage.it
    stage.approve()
    assert stage.it.state is State.EXECUTING


def test_a_policy_that_advances_at_every_gate_executes_once() -> None:
    stage = Stage().create(END)
    events = answer(stage)
    assert stage.it.state is State.EXECUTING
    assert [type(effect) for effect in effects(events, stage.it, Timing())] == [EnqueueExecution]


def test_low_confidence_stops_at_the_intent_and_all_three_are_recorded() -> None:
    stage = Stage().create(PLAN)
    events = answer(stage, intent=0.1)
    assert stage.it.state is State.AWAITING_INTENT_CONFIRMATION
    assert kinds(events).count("action_inferred") == kinds(events).count("context_inferred") == 1
    assert stage.it.inferred == set(Target)


def test_a_confirmation_walks_on_over_every_gate_without_another_inference() -> None:
    stage = Stage().create(ASKS)
    answer(stage)
    for gate in (State.AWAITING_INTENT_CONFIRMATION, State.AWAITING_CONTEXT_CONFIRMATION):
        assert stage.it.state is gate
        events = stage.do(c.Accept())
        assert not [one for one in effects(events, stage.it, Timing()) if isinstance(one, EnqueueInference)]
    assert stage.it.state is State.AWAITING_CONFIRMATION
    assert stage.it.proposal is not None
    assert rebuild(stage.events) == stage.it


@pytest.mark.parametrize(
    ("command", "target"), [(c.Redirect(feedback="no"), Target.INTENT), (c.Edit(text="the sink"), Target.CONTEXT)]
)
def test_what_a_person_changes_at_the_intent_makes_the_rest_be_inferred_again(
    command: c.Command, target: Target
) -> None:
    stage = Stage().create(ASKS)
    answer(stage)
    events = stage.do(command)
    assert [one.target for one in effects(events, stage.it, Timing()) if isinstance(one, EnqueueInference)] == [target]
    assert (stage.it.proposal, stage.it.target) == (None, target)
    assert Target.ACTION not in stage.it.inferred
    assert wants_combined(stage.it) == (target is Target.INTENT)
    assert rebuild(stage.events) == stage.it


def test_an_answer_without_an_action_counts_as_an_intent_alone() -> None:
    stage = Stage().create(ASKS)
    stage.do(c.ClaimInference(), RUNNER)
    intent = c.CompleteInference({"intent": "fix the tap"}, confidence=0.9)
    stage.do(c.CompleteCombined(intent, c.CompleteInference({"context": "x"}), c.CompleteInference()), RUNNER)
    assert (stage.it.state, stage.it.inferred) == (State.AWAITING_INTENT_CONFIRMATION, {Target.INTENT})
    assert stage.it.context is None


def test_without_the_axis_one_call_answers_one_target() -> None:
    assert not wants_combined(Stage().create(Policy()).it)
