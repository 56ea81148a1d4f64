"""Combined inference: one call, three guesses, the same gates one after the other (design/threads.md, section 3.8)."""

from __future__ import annotations

from services.threads.domain import deciding_inference
from services.threads.domain.branches import BranchFacts
from services.threads.domain.commands import CompleteCombined, CompleteInference
from services.threads.domain.drafting import Draft
from services.threads.domain.events import Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import ActionDraft, Proposal, inferred_content
from services.threads.domain.proposing import proposed
from services.threads.domain.states import CONFIRMATION, State, Target
from services.threads.domain.thread import Thread
from services.threads.domain.triggers import Trigger

COMBINED = {"combined": True}
"""Marks the moves of the walk: between them the recorded proposal stays."""


def wants_combined(thread: Thread) -> bool:
    """Whether the next inference may answer all three at once: the policy says so and nothing was inferred yet."""
    return thread.autonomy.combined_inference and not thread.inferred


def complete(draft: Draft, command: CompleteCombined) -> Draft:
    """Record all three, then walk to the first gate that stops. Without an action to record it is an intent alone."""
    action = command.action.draft or ActionDraft()
    empty = deciding_inference.is_empty(Target.INTENT, command.intent.payload) or deciding_inference.is_empty(
        Target.CONTEXT, command.context.payload
    )
    if draft.thread.state is not State.INFERRING_INTENT or empty or action.is_empty or action.is_clarification:
        return deciding_inference.complete(draft, command.intent)
    for target, kind, guess in (
        (Target.INTENT, Kind.INTENT_INFERRED, command.intent),
        (Target.CONTEXT, Kind.CONTEXT_INFERRED, command.context),
    ):
        data = {"target": target, "payload": guess.payload, **deciding_inference.source(guess)}
        draft.add(Fact(kind, {**data, "from_combined_call": True}))
    extra = {**deciding_inference.source(command.action), "from_combined_call": True}
    _, fact = proposed(
        draft.thread,
        draft.stamp.proposal_id,
        inferred_content(action),
        confidence=command.action.confidence,
        by_user=False,
        extra=extra,
    )
    draft.add(fact, _meta(command))
    return walk(draft, Target.INTENT)


def stopped_midway(thread: Thread) -> bool:
    """Whether a combined walk stopped at the gate of the intent or the context: the rest is recorded already."""
    midway = thread.state in (CONFIRMATION[Target.INTENT], CONFIRMATION[Target.CONTEXT])
    return midway and thread.proposal is not None and thread.context is not None


def walk(draft: Draft, target: Target) -> Draft:
    """Ask the gates from `target` on; ends at the first wait state, or executing."""
    for step in list(Target)[list(Target).index(target) :]:
        if draft.thread.state is State.AWAITING_INFERENCE:
            draft.move(Trigger.INFERENCE_CLAIMED, facts=BranchFacts(target=step), data=COMBINED)
        draft.move(Trigger.INFERENCE_DONE, facts=_facts(draft.thread, step), target=_after(step), data=COMBINED)
        if draft.thread.state is not State.AWAITING_INFERENCE:
            break
    return draft


def _after(target: Target) -> Target:
    return Target.CONTEXT if target is Target.INTENT else Target.ACTION


def _facts(thread: Thread, target: Target) -> BranchFacts:
    proposal: Proposal | None = thread.proposal if target is Target.ACTION else None
    guess = thread.intent if target is Target.INTENT else thread.context
    confidence = guess.confidence if guess else None
    if target is Target.ACTION:
        confidence = proposal.confidence if proposal else None
    return BranchFacts(policy=thread.autonomy, confidence=confidence, proposal=proposal, target=target)


def _meta(command: CompleteCombined) -> Fact:
    guesses: tuple[CompleteInference, ...] = (command.intent, command.context, command.action)
    known = [guess.confidence for guess in guesses if guess.confidence is not None]
    return Fact(
        Kind.COMBINED_INFERRED_META,
        {
            "model_used": command.action.model_used,
            "tier_used": command.action.tier_used,
            "cost_usd": sum(guess.cost_usd for guess in guesses),
            "overall_confidence": min(known) if len(known) == len(guesses) else None,
        },
    )
