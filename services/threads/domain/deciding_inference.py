"""What a runner's inference does to a thread (design/threads.md, sections 0.2, 0.8, 3.8)."""

from __future__ import annotations

from services.threads.domain.branches import BranchFacts
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.commands import (
    ClaimInference,
    CompleteInference,
    FailInference,
    LoseInference,
    RefuseInference,
)
from services.threads.domain.drafting import Draft
from services.threads.domain.events import Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import ActionDraft, inferred_content
from services.threads.domain.proposing import proposed
from services.threads.domain.states import INFERRING, State, Target
from services.threads.domain.target import next_target
from services.threads.domain.thread import Thread
from services.threads.domain.triggers import Trigger

_KINDS = {Target.INTENT: Kind.INTENT_INFERRED, Target.CONTEXT: Kind.CONTEXT_INFERRED}


def claim(draft: Draft, command: ClaimInference) -> Draft:
    """The claim of a job; a thread that has spent its budget is refused instead."""
    thread = draft.thread
    if thread.state is State.AWAITING_INFERENCE and _over_budget(thread):
        return refuse(draft, RefuseInference("budget_exhausted"))
    target = _target(thread)
    data: JsonObject = {"target": target, "attempt": command.attempt}
    return draft.move(Trigger.INFERENCE_CLAIMED, facts=BranchFacts(target=target), data=data)


def refuse(draft: Draft, command: RefuseInference) -> Draft:
    """Admission refused the inference: a person is asked, never left waiting."""
    return draft.move(
        Trigger.INFERENCE_REFUSED, facts=BranchFacts(target=_target(draft.thread)), data={"reason": command.code}
    )


def complete(draft: Draft, command: CompleteInference) -> Draft:
    """Record the answer and ask the policy gate; an empty answer is a failure and resolves nothing."""
    thread = draft.thread
    if thread.state not in INFERRING.values():
        return draft.move(Trigger.INFERENCE_DONE)
    target = _target(thread)
    if target is Target.ACTION:
        return _complete_action(draft, command, command.draft or ActionDraft())
    if is_empty(target, command.payload):
        return fail(draft, FailInference("empty_inference", cost_usd=command.cost_usd))
    draft.add(Fact(_KINDS[target], {"target": target, "payload": command.payload, **source(command)}))
    facts = BranchFacts(policy=thread.autonomy, confidence=command.confidence, target=target)
    return draft.move(Trigger.INFERENCE_DONE, facts=facts)


def fail(draft: Draft, command: FailInference) -> Draft:
    """Retried through awaiting_inference while attempts are left, else the matching clarification."""
    data: dict[str, Json] = {"reason": command.code}
    if command.cost_usd:
        data["cost_usd"] = command.cost_usd
    if command.retry:
        return _lose(draft, retry=True, data=data)
    return draft.move(Trigger.INFERENCE_FAILED, data=data)


def lose(draft: Draft, command: LoseInference) -> Draft:
    """The runner is gone."""
    return _lose(draft, retry=command.retry, data={"reason": "lease_expired"})


def is_empty(target: Target, payload: JsonObject) -> bool:
    """No intent text, or a context in which every value is blank."""
    if target is Target.INTENT:
        said = payload.get("intent")
        return not (isinstance(said, str) and said.strip())
    return not any(value.strip() if isinstance(value, str) else value for value in payload.values())


def _lose(draft: Draft, *, retry: bool, data: JsonObject) -> Draft:
    target = _target(draft.thread)
    return draft.move(Trigger.INFERENCE_LOST, facts=BranchFacts(target=target, retry=retry), target=target, data=data)


def _complete_action(draft: Draft, command: CompleteInference, answer: ActionDraft) -> Draft:
    thread = draft.thread
    if answer.is_empty:
        return fail(draft, FailInference("empty_inference", cost_usd=command.cost_usd))
    if answer.is_clarification:
        payload = {**inferred_content(answer)}
        draft.add(Fact(Kind.ACTION_INFERRED, {"target": Target.ACTION, "payload": payload, **source(command)}))
        facts = BranchFacts(clarification=True, target=Target.ACTION)
        return draft.move(Trigger.INFERENCE_DONE, facts=facts, data={"reason": "question"})
    proposal, fact = proposed(
        thread,
        draft.stamp.proposal_id,
        inferred_content(answer),
        confidence=command.confidence,
        by_user=False,
        extra=source(command),
    )
    draft.add(fact)
    facts = BranchFacts(policy=thread.autonomy, confidence=command.confidence, proposal=proposal, target=Target.ACTION)
    return draft.move(Trigger.INFERENCE_DONE, facts=facts)


def source(command: CompleteInference) -> JsonObject:
    """Where a guess is from."""
    return {
        "confidence": command.confidence,
        "model_used": command.model_used,
        "tier_used": command.tier_used,
        "cost_usd": command.cost_usd,
    }


def _target(thread: Thread) -> Target:
    return thread.target or next_target(thread)


def _over_budget(thread: Thread) -> bool:
    """Nothing spent is never over budget, so that free providers work with a budget of 0."""
    return 0 < thread.spent_usd >= thread.autonomy.budget_usd
