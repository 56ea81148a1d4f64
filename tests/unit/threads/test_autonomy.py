"""Autonomy: every axis blocks alone, consent kinds really block, policies as JSON, narrowing (scenarios 21, 22)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.kernel.errors import Invalid
from services.threads.domain.autonomy import PRESETS, Policy, compose
from services.threads.domain.gate import judge
from services.threads.domain.narrowing import PolicyWidens, refuse_widening
from services.threads.domain.policy_json import policy_from, policy_json
from services.threads.domain.proposal import ActionKind, Proposal
from services.threads.domain.states import State, Target
from tests.unit.threads.stage import Stage, task_draft

LOW = {"kind": "standard", "irreversibility": "low", "regret_potential": "low", "risk_amplifier": False}
END = PRESETS["end_to_end"]


def proposal(**content: object) -> Proposal:
    """A proposal with this risk."""
    return Proposal("prp_1", 1, ActionKind.STANDARD, "task_create", {**LOW, **content}, False, False)  # type: ignore[dict-item]


def test_end_to_end_runs_a_low_risk_action() -> None:
    verdict = judge(END, Target.ACTION, 0.9, proposal())
    assert verdict.advance
    assert not [axis for axis in verdict.axes if axis.startswith("!")]
    assert Stage().create(END).infer().infer().infer().it.state is State.EXECUTING


@pytest.mark.parametrize(
    ("policy", "confidence", "subject", "axis"),
    [
        (replace(END, auto_advance_states=frozenset()), 0.9, proposal(), "auto_advance_states"),
        (END, 0.59, proposal(), "inference_confidence_floor"),
        (END, None, proposal(), "inference_confidence_floor"),
        (
            replace(END, consent_required_kinds=frozenset({"action_approved"})),
            0.9,
            proposal(),
            "consent_required_kinds",
        ),
        (replace(END, consent_required_kinds=frozenset({"action_picked"})), 0.9, proposal(), "consent_required_kinds"),
        (
            replace(END, consent_required_kinds=frozenset({"action_inferred"})),
            0.9,
            proposal(),
            "consent_required_kinds",
        ),
        (replace(END, allowed_action_kinds=frozenset()), 0.9, proposal(), "allowed_action_kinds"),
        (
            replace(END, allowed_invocation_contexts=frozenset({"action_proposal"})),
            0.9,
            proposal(),
            "allowed_invocation_contexts",
        ),
        (END, 0.9, proposal(autonomous=False), "allowed_invocation_contexts"),
        (END, 0.9, proposal(irreversibility="high"), "irreversibility_threshold"),
        (END, 0.9, proposal(irreversibility="moderate"), "irreversibility_threshold"),
        (END, 0.9, proposal(irreversibility=""), "irreversibility_threshold"),
        (END, 0.9, proposal(regret_potential="high"), "regret_potential_threshold"),
        (END, 0.9, proposal(risk_amplifier=True), "pause_on_risk_amplifier"),
        (END, 0.9, replace(proposal(), name="thread_dismiss"), "executable"),
        (END, 0.9, replace(proposal(), kind=ActionKind.SUGGESTION), "executable"),
    ],
)
def test_each_axis_blocks_alone(policy: Policy, confidence: float | None, subject: Proposal, axis: str) -> None:
    verdict = judge(policy, Target.ACTION, confidence, subject)
    assert not verdict.advance
    assert [blocked for blocked in verdict.axes if blocked.startswith("!")] == [f"!{axis}"]


@pytest.mark.parametrize("kind", ["intent_inferred", "intent_confirmed"])
def test_consent_to_the_intent_blocks_the_intent_gate_only(kind: str) -> None:
    policy = replace(END, consent_required_kinds=frozenset({kind}))
    assert not judge(policy, Target.INTENT, 0.9).advance
    assert judge(policy, Target.CONTEXT, 0.9).advance


def test_hands_off_never_advances() -> None:
    stage = Stage().create(PRESETS["hands_off"]).infer(confidence=1.0)
    assert stage.it.state is State.AWAITING_INTENT_CONFIRMATION


def test_advancing_goes_on_to_the_next_target_and_never_loops() -> None:
    stage = Stage().create(END).infer()
    assert (stage.it.state, stage.it.target) == (State.AWAITING_INFERENCE, Target.CONTEXT)
    stage.infer()
    assert stage.it.target is Target.ACTION


def test_the_models_own_claim_of_low_risk_does_not_count() -> None:
    draft = replace(task_draft(), action=replace(task_draft().action, irreversibility="high"), irreversibility="low")  # type: ignore[type-var]
    stage = Stage().create(END).infer().infer().infer(draft)
    assert stage.it.state is State.AWAITING_CONFIRMATION


def test_composition_is_by_axis_and_a_policy_replaces_all() -> None:
    assert compose(END, {"budget_usd": 2.0}, None).budget_usd == 2.0
    assert compose({"budget_usd": 2.0}, PRESETS["hands_off"]) == PRESETS["hands_off"]
    with pytest.raises(TypeError):
        compose(["budget_usd"])  # type: ignore[arg-type]


def test_policies_are_read_from_names_and_partial_objects() -> None:
    assert policy_from(None) == PRESETS["plan_then_review"]
    assert policy_from("hands_off") == PRESETS["hands_off"]
    assert policy_from({}) == Policy()
    assert policy_from({"auto_advance_states": []}).auto_advance_states == frozenset()
    for policy in (*PRESETS.values(), Policy(allowed_action_kinds=frozenset())):
        assert policy_from(policy_json(policy)) == policy


@pytest.mark.parametrize(
    "value",
    [
        "always",
        7,
        {"speed": 1},
        {"_axis": 1},
        {"budget_usd": "1"},
        {"budget_usd": -1},
        {"inference_confidence_floor": 1.1},
        {"inference_confidence_floor": True},
        {"irreversibility_threshold": "moderate"},
        {"auto_advance_states": ["nowhere"]},
        {"consent_required_kinds": ["action_blessed"]},
        {"allowed_action_kinds": "all"},
        {"pause_on_risk_amplifier": 1},
        {"inference_floor_tier": "user", "inference_ceiling_tier": "local_fast"},
    ],
)
def test_a_policy_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(Invalid) as refused:
        policy_from(value)  # type: ignore[arg-type]
    assert refused.value.metadata["field"].startswith("autonomy")


@pytest.mark.parametrize(
    "change",
    [
        {"auto_advance_states": END.auto_advance_states},
        {"consent_required_kinds": frozenset()},
        {"inference_confidence_floor": 0.1},
        {"irreversibility_threshold": "high"},
        {"regret_potential_threshold": "high"},
        {"pause_on_risk_amplifier": False},
        {"inference_floor_tier": "local_fast"},
        {"inference_ceiling_tier": "user"},
        {"budget_usd": 9.0},
    ],
)
def test_a_child_can_only_be_more_careful(change: dict[str, object]) -> None:
    parent = PRESETS["plan_then_review"]
    with pytest.raises(PolicyWidens, match="widen") as refused:
        refuse_widening(parent, compose(parent, change))
    assert refused.value.metadata["axes"] == next(iter(change))


def test_a_narrower_child_is_fine() -> None:
    refuse_widening(END, PRESETS["plan_then_review"])
    refuse_widening(PRESETS["plan_then_review"], PRESETS["hands_off"])
