"""Decisions are a ledger: citations, losers, empty proposals, feedback, universal actions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from services.kernel.errors import Conflict, Invalid, NotAllowed
from services.threads.domain import commands as c
from services.threads.domain.canonical import canonical_json
from services.threads.domain.errors import AlreadyDecided, ProposalChanged
from services.threads.domain.evolve import rebuild
from services.threads.domain.feedback import unresolved
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import ActionDraft, RegisteredAction
from services.threads.domain.states import State, Target
from tests.unit.threads.stage import TASK, USER, Stage, choice, reach, task_draft


def test_pub01_the_second_approval_is_told_who_approved() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    cited = stage.cited
    stage.do(c.Accept(cited), replace(USER, subject="grace"))
    with pytest.raises(AlreadyDecided) as lost:
        stage.do(c.Accept(cited))
    told = lost.value.metadata
    assert (lost.value.reason, told["decided_by"], told["decision"], told["state"]) == (
        "ALREADY_DECIDED",
        "grace",
        "approve",
        "executing",
    )


@pytest.mark.parametrize("state", [State.AWAITING_REVIEW, State.AWAITING_REDIRECT, State.DONE])
def test_a_late_approval_never_counts_for_a_later_state(state: State) -> None:
    stage = reach(state)
    with pytest.raises(Conflict):
        stage.do(c.Accept(stage.cited))


def test_pub02_dismiss_after_approve_is_a_conflict() -> None:
    stage = reach(State.EXECUTING)
    with pytest.raises(AlreadyDecided):
        stage.do(c.Dismiss(stage.cited))


def test_another_digest_is_a_conflict() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    with pytest.raises(ProposalChanged) as lost:
        stage.do(c.Accept(c.Citation(stage.cited.proposal_id, "0" * 64)))
    assert lost.value.metadata["proposal_digest"] == stage.cited.digest


def test_an_approval_without_a_citation_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        reach(State.AWAITING_CONFIRMATION).do(c.Accept())
    assert refused.value.reason == "PROPOSAL_NOT_CITED"


def test_a_cleared_proposal_cannot_be_approved_nor_an_older_one() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    cited = stage.cited
    stage.do(c.PickAction(None))
    assert stage.it.proposal is None
    with pytest.raises(NotAllowed):
        stage.do(c.Accept())
    with pytest.raises(Conflict):
        stage.do(c.Accept(cited))


def test_what_a_person_redirected_away_from_can_never_run() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    cited = stage.cited
    stage.do(c.RedirectAction(cited, "do NOT email"))
    assert stage.it.proposal is None
    stage.do(c.ClaimInference())
    stage.do(c.CompleteInference({}, ActionDraft(), 0.0))
    assert stage.it.state is State.AWAITING_ACTION_CLARIFICATION
    with pytest.raises(Conflict):
        stage.do(c.Accept(cited))


def test_overrides_are_folded_into_a_new_revision_before_the_execute() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    old = stage.cited
    inferred, executed = stage.do(c.Accept(old, overrides={"text": "write"}))
    assert (inferred.kind, inferred.data["from_user_override"], inferred.data["confidence"]) == (
        Kind.ACTION_INFERRED,
        True,
        1.0,
    )
    assert executed.data["decision"] == {
        "choice": "approve",
        "proposal_id": stage.cited.proposal_id,
        "digest": stage.cited.digest,
        "cited_proposal_id": old.proposal_id,
    }
    assert stage.it.proposal is not None
    assert stage.it.proposal.parameters == {"text": "write"}
    assert stage.it.proposal.content["irreversibility"] == "low"


def test_overrides_that_change_nothing_write_nothing_more() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    assert len(stage.do(c.Accept(stage.cited, overrides={"text": "call"}))) == 1


def test_an_edit_makes_the_old_citation_stale_and_names_the_editor() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    old = stage.cited
    stage.do(c.Edit(old, action=choice(text="write")))
    assert stage.it.state is State.AWAITING_CONFIRMATION
    with pytest.raises(AlreadyDecided) as lost:
        stage.do(c.Accept(old))
    assert lost.value.metadata["decision"] == "edit"
    stage.do(c.Accept(stage.cited))
    assert stage.it.state is State.EXECUTING


def test_editing_the_intent_counts_as_the_intent() -> None:
    stage = reach(State.AWAITING_INTENT_CONFIRMATION)
    stage.do(c.Edit(text="replace the tap"))
    assert stage.it.intent is not None
    assert (stage.it.intent.payload, stage.it.target) == ({"intent": "replace the tap"}, Target.CONTEXT)


@pytest.mark.parametrize(
    ("state", "target"),
    [
        (State.AWAITING_INTENT_CONFIRMATION, Target.INTENT),
        (State.AWAITING_CONTEXT_CONFIRMATION, Target.CONTEXT),
        (State.AWAITING_CONFIRMATION, Target.ACTION),
        (State.AWAITING_REVIEW, Target.ACTION),
        (State.AWAITING_REDIRECT, Target.ACTION),
    ],
)
def test_a_redirect_infers_the_same_target_again(state: State, target: Target) -> None:
    stage = reach(state)
    stage.do(c.Redirect(feedback="not so"))
    assert (stage.it.state, stage.it.target) == (State.AWAITING_INFERENCE, target)
    assert [said.text for said in unresolved(stage.it)] == ["not so"]


def test_all_feedback_since_the_last_real_proposal_stays_unresolved_oldest_first() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    stage.do(c.RedirectAction(feedback="cheaper", seed_params={"a": 1}, target_action="task_create"))
    stage.do(c.ClaimInference())
    stage.do(c.FailInference("down"))
    stage.do(c.Provide(text="next week"))
    stage.do(c.PickAction(choice(text="mine")))
    stage.do(c.RedirectAction(feedback="quicker"))
    stage.do(c.ClaimInference())
    stage.do(c.CompleteInference({}, ActionDraft(kind="clarification", blocked_on="which one?"), 0.9))
    assert stage.it.question == "which one?"
    stage.do(c.Provide(text="the red one"))
    assert [said.text for said in unresolved(stage.it)] == ["cheaper", "next week", "quicker", "the red one"]
    assert unresolved(stage.it)[0].seed_params == {"a": 1}
    stage.infer()
    assert unresolved(stage.it) == ()


def test_blank_feedback_is_legal_and_left_out_of_the_prompt() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    stage.do(c.RedirectAction(feedback="  "))
    assert unresolved(stage.it) == ()
    assert stage.it.prior_proposal is not None


def test_a_refused_redirect_leaves_no_event() -> None:
    stage = reach(State.EXECUTING)
    count = len(stage.events)
    with pytest.raises(Conflict):
        stage.do(c.RedirectAction(feedback="stop"))
    assert len(stage.events) == count


def test_a_pick_promotes_a_queued_thread_to_the_gate() -> None:
    stage = reach(State.AWAITING_INFERENCE)
    stage.do(c.PickAction(choice()))
    assert stage.it.state is State.AWAITING_CONFIRMATION
    stage.do(c.Accept(stage.cited))
    assert stage.it.state is State.EXECUTING


def universal(name: str, **parameters: str) -> Stage:
    """A gate with a universal action."""
    action = RegisteredAction(name, irreversibility="low", regret_potential="low")
    return Stage().create().to_gate(ActionDraft("standard", name, parameters, action=action))


def test_thread_dismiss_runs_at_approval() -> None:
    stage = universal("thread_dismiss", reason="spam").approve()
    assert stage.it.state is State.DISMISSED
    assert not [event for event in stage.events if event.kind is Kind.EXECUTION_STARTED]


def test_thread_rename_keeps_the_gate_and_clears_the_proposal() -> None:
    stage = universal("thread_rename", new_title="Tap").approve()
    assert (stage.it.state, stage.it.title, stage.it.proposal) == (State.AWAITING_CONFIRMATION, "Tap", None)


def test_thread_defer_defaults_to_a_day() -> None:
    stage = universal("thread_defer").approve()
    assert stage.it.state is State.AWAITING_CONFIRMATION
    assert stage.it.resurface_at == stage.now + timedelta(hours=24)
    stage.do(c.PickAction(choice()))
    stage.do(c.Accept(stage.cited))
    assert stage.it.state is State.EXECUTING


def test_a_universal_action_with_wrong_parameters_is_refused() -> None:
    stage = universal("thread_rename", new_title="  ")
    count = len(stage.events)
    with pytest.raises(Invalid):
        stage.approve()
    assert len(stage.events) == count


def test_a_suggestion_cannot_be_executed_but_replaced() -> None:
    stage = Stage().create().to_gate(ActionDraft("suggestion", text="ask a friend"))
    with pytest.raises(NotAllowed):
        stage.approve()
    stage.do(c.Accept(stage.cited, action=choice()))
    assert stage.it.state is State.EXECUTING


@pytest.mark.parametrize("hours", [0, -1, 366 * 24 + 1])
def test_later_is_within_366_days(hours: int) -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    with pytest.raises(Invalid):
        stage.do(c.Later(stage.now + timedelta(hours=hours)))


def test_the_digest_is_stable_and_follows_the_content() -> None:
    stage = Stage().create().to_gate(task_draft(TASK, b="1", a="ü"))
    proposal = stage.it.proposal
    assert proposal is not None
    assert rebuild(stage.events).proposal == proposal
    assert rebuild(stage.events).proposal.digest == proposal.digest  # type: ignore[union-attr]
    shuffled = replace(proposal, content=dict(reversed(list(proposal.content.items()))))
    assert shuffled.digest == proposal.digest
    assert replace(proposal, content={**proposal.content, "parameters": {}}).digest != proposal.digest
    assert canonical_json({"b": 1, "a": ["ü", 1.5, None]}) == '{"a":["ü",1.5,null],"b":1}'.encode()
