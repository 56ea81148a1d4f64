"""A thread from its creation to its end: the golden walk of section 2.2, creation, jobs at most once."""

from __future__ import annotations

import pytest

from services.kernel.errors import Invalid, NotAllowed, Refusal
from services.threads.domain import commands as c
from services.threads.domain.autonomy import PRESETS, Policy
from services.threads.domain.effects import (
    CancelJobs,
    ClearTimer,
    EnqueueExecution,
    EnqueueInference,
    SetTimer,
    effects,
)
from services.threads.domain.evolve import rebuild
from services.threads.domain.kinds import Kind
from services.threads.domain.states import State, Target
from services.threads.domain.timing import Timing
from tests.unit.threads.stage import IDEMPOTENT, REVIEWED, RUNNER, Stage, reach, task_draft


def walked(stage: Stage) -> list[tuple[object, ...]]:
    """The log as the golden walk projects it: moves and audits, without claims and creation."""
    seen: list[tuple[object, ...]] = []
    for event in stage.events:
        if event.kind is Kind.STATE_TRANSITION and event.data["trigger"] not in (
            "begin_inference",
            "inference_claimed",
        ):
            seen.append((event.data["from"], event.data["to"]))
        if event.kind is Kind.AUTO_ADVANCE_DECISION:
            seen.append((event.data["target"], event.data["advance"]))
    return seen


def test_the_golden_walk() -> None:
    stage = Stage().create(Policy()).to_gate().approve().execute()
    assert walked(stage) == [
        ("inferring_intent", "awaiting_intent_confirmation"),
        ("intent", False),
        ("awaiting_intent_confirmation", "awaiting_inference"),
        ("inferring_context", "awaiting_context_confirmation"),
        ("context", False),
        ("awaiting_context_confirmation", "awaiting_inference"),
        ("inferring_action", "awaiting_confirmation"),
        ("action", False),
        ("awaiting_confirmation", "executing"),
        ("executing", "done"),
    ]
    assert [event.seq for event in stage.events] == list(range(1, len(stage.events) + 1))
    assert rebuild(stage.events) == stage.it


def test_creation_begins_inference_in_one_go_and_is_replayable() -> None:
    stage = Stage().create(PRESETS["plan_then_review"])
    created, begun = stage.events
    assert (created.kind, begun.data["trigger"]) == (Kind.THREAD_CREATED, "begin_inference")
    assert created.data["spawned_at"] == {"state": "proposed", "reason": "created"}
    assert (stage.it.state, stage.it.target) == (State.AWAITING_INFERENCE, Target.INTENT)
    assert effects(stage.events, stage.it, Timing()) == (EnqueueInference(Target.INTENT), ClearTimer())


def test_plan_then_review_stops_at_the_gate_without_asking_for_intent_and_context() -> None:
    stage = Stage().create(PRESETS["plan_then_review"]).infer().infer().infer()
    assert stage.it.state is State.AWAITING_CONFIRMATION
    assert [event.data["target"] for event in stage.events if event.kind is Kind.AUTO_ADVANCE_DECISION] == [
        "intent",
        "context",
        "action",
    ]


def test_dismissing_a_proposed_thread_writes_exactly_one_event_and_clears_its_timer() -> None:
    stage = Stage().create(begin=False)
    assert effects(stage.events, stage.it, Timing()) == (SetTimer(stage.it.since + Timing().proposed_expiry),)
    events = stage.do(c.Dismiss())
    assert len(events) == 1
    assert effects(events, stage.it, Timing()) == (ClearTimer(),)


def test_dismissing_while_queued_cancels_the_job_and_a_late_claim_is_refused() -> None:
    stage = Stage().create()
    events = stage.do(c.Dismiss())
    assert effects(events, stage.it, Timing()) == (CancelJobs(),)
    with pytest.raises(NotAllowed):
        stage.do(c.ClaimInference())


def test_approval_enqueues_exactly_what_was_cited() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    cited = stage.cited
    events = stage.do(c.Accept(cited))
    assert effects(events, stage.it, Timing()) == (EnqueueExecution(cited.proposal_id, cited.digest, False),)
    assert stage.events[-1].data["decision"] == {
        "choice": "approve",
        "proposal_id": cited.proposal_id,
        "digest": cited.digest,
    }


def test_post_review_leads_to_awaiting_review_with_a_timer() -> None:
    stage = Stage().create().to_gate(task_draft(REVIEWED)).approve().execute()
    assert stage.it.state is State.AWAITING_REVIEW
    assert SetTimer(stage.it.since + Timing().review_auto_accept) in effects(stage.events, stage.it, Timing())
    stage.do(c.Timeout())
    assert stage.it.state is State.DONE


def test_a_runner_lost_before_the_start_runs_again_and_after_it_does_not() -> None:
    stage = reach(State.EXECUTING)
    assert stage.do(c.LoseExecution()) == ()
    stage.do(c.StartExecution(stage.cited.proposal_id, stage.cited.digest), RUNNER)
    stage.do(c.LoseExecution())
    assert (stage.it.state, stage.it.reason) == (State.AWAITING_REDIRECT, "runner_lost")


def test_an_idempotent_action_runs_again_after_a_lost_start() -> None:
    stage = Stage().create().to_gate(task_draft(IDEMPOTENT)).approve()
    for _ in range(2):
        stage.do(c.StartExecution(stage.cited.proposal_id, stage.cited.digest), RUNNER)
        assert stage.do(c.LoseExecution()) == ()
    stage.do(c.StartExecution(stage.cited.proposal_id, stage.cited.digest), RUNNER)
    stage.do(c.FinishExecution(True), RUNNER)
    assert stage.it.state is State.DONE


def test_a_second_start_is_refused() -> None:
    stage = reach(State.EXECUTING)
    stage.do(c.StartExecution(stage.cited.proposal_id, stage.cited.digest), RUNNER)
    with pytest.raises(NotAllowed, match="already begun"):
        stage.do(c.StartExecution(stage.cited.proposal_id, stage.cited.digest), RUNNER)


def test_a_success_that_never_started_is_refused() -> None:
    with pytest.raises(NotAllowed, match="never started"):
        reach(State.EXECUTING).do(c.FinishExecution(True), RUNNER)


def test_a_late_result_is_kept_and_changes_no_state() -> None:
    stage = reach(State.EXECUTING)
    stage.do(c.ForceClose())
    (event,) = stage.do(c.RecordLateResult(True, "done"), RUNNER)
    assert event.data["late"] is True
    assert stage.it.state is State.DISMISSED


def test_inference_is_retried_through_awaiting_inference_and_then_asks() -> None:
    stage = reach(State.INFERRING_CONTEXT)
    events = stage.do(c.LoseInference(retry=True))
    assert (stage.it.state, stage.it.target) == (State.AWAITING_INFERENCE, Target.CONTEXT)
    assert effects(events, stage.it, Timing()) == ()
    stage.do(c.ClaimInference(attempt=2))
    assert stage.it.state is State.INFERRING_CONTEXT
    stage.do(c.LoseInference(retry=False))
    assert stage.it.state is State.AWAITING_CONTEXT_CLARIFICATION


def test_an_empty_inference_is_a_failure() -> None:
    for state in (State.INFERRING_INTENT, State.INFERRING_CONTEXT, State.INFERRING_ACTION):
        stage = reach(state)
        stage.do(c.CompleteInference({"intent": " ", "context": ""}, None, 0.9))
        assert stage.it.state.value.endswith("_clarification")
        assert stage.it.reason == "empty_inference"


def test_a_spent_budget_refuses_the_claim_and_asks() -> None:
    stage = Stage().create(Policy(budget_usd=0.5))
    stage.do(c.ClaimInference())
    stage.do(c.CompleteInference({"intent": "x"}, None, 0.9, cost_usd=0.5))
    stage.do(c.Accept())
    stage.do(c.ClaimInference())
    assert (stage.it.state, stage.it.reason) == (State.AWAITING_CONTEXT_CLARIFICATION, "budget_exhausted")


@pytest.mark.parametrize("title", ["", "   ", "x" * 201, "a\x00b", "x\ud83dy"])
def test_pub22_a_title_that_cannot_stand_is_refused_naming_the_field(title: str) -> None:
    with pytest.raises(Invalid) as refused:
        Stage().do(c.CreateThread("thr_1", title))
    assert refused.value.metadata["field"] == "title"


def test_limits_count_code_points() -> None:
    Stage().do(c.CreateThread("thr_1", "\U0001f9f5" * 200, "\U0001f9f5" * 20_000))


def test_a_stale_etag_is_told_and_writes_nothing() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    etag = stage.it.etag
    stage.do(c.Rename("Another"))
    before = stage.it
    with pytest.raises(Refusal) as refused:
        stage.do(c.Accept(stage.cited), etag=etag)
    assert refused.value.reason == "ETAG_MISMATCH"
    assert stage.it == before
