"""What a runner is told and what it answers: the JSON of jobs, the other side of the runner's payload."""

from __future__ import annotations

from collections.abc import Sequence

from services.kernel.errors import Invalid
from services.kernel.text import storable_json
from services.threads.application.ports import Job
from services.threads.domain import limits
from services.threads.domain.autonomy import PROPOSED
from services.threads.domain.canonical import JsonObject
from services.threads.domain.checks import check_object
from services.threads.domain.commands import CompleteCombined, CompleteInference
from services.threads.domain.created import item_json
from services.threads.domain.deciding_combined import wants_combined
from services.threads.domain.feedback import unresolved
from services.threads.domain.proposal import ActionDraft, as_object
from services.threads.domain.reading import maybe_number, text
from services.threads.domain.registration import Registration
from services.threads.domain.states import Target
from services.threads.domain.thread import FeedbackKind, Inferred, Thread


def inference_task(thread: Thread, target: Target, offers: Sequence[Registration]) -> JsonObject:
    """Everything one inference needs. Feedback is unresolved, oldest first (section 0.8)."""
    said = unresolved(thread)
    prior = thread.prior_proposal
    return {
        "target": target,
        "combined": target is Target.INTENT and wants_combined(thread),
        "thread": {"id": thread.thread_id, "title": thread.title, "description": thread.description},
        "context_items": [item_json(item) for item in thread.context_items],
        "intent": _inferred_text(thread.intent, "intent"),
        "context": _inferred_text(thread.context, "context"),
        "feedback": [
            {"text": one.text, "params": one.seed_params, "target_action": one.target_action or None}
            for one in said
            if one.kind is FeedbackKind.REDIRECT
        ],
        "clarifications": [one.text for one in said if one.kind is FeedbackKind.CLARIFICATION],
        "prior_proposal": None if prior is None else {**prior.content, "name": prior.name},
        "tiers": {"floor": thread.autonomy.inference_floor_tier, "ceiling": thread.autonomy.inference_ceiling_tier},
        "actions": [
            {
                "capability_name": offer.name,
                "description": offer.description,
                "parameters_schema": offer.schema,
            }
            for offer in offers
            if PROPOSED in offer.available_in and PROPOSED in thread.autonomy.allowed_invocation_contexts
        ],
    }


def execution_task(thread: Thread, job: Job) -> JsonObject:
    """What was approved, byte for byte."""
    proposal = thread.proposal
    assert proposal is not None, "an executing thread has a proposal"
    return {
        "proposal": {
            "proposal_id": proposal.proposal_id,
            "digest": proposal.digest,
            "name": proposal.name,
            "parameters": proposal.parameters,
        },
        "thread": {"id": thread.thread_id, "title": thread.title},
        "idempotency_key": job.id,
    }


def cleanup_task(thread: Thread, job: Job) -> JsonObject:
    """Which source is to be taken away, and by which adapter."""
    return {**job.payload, "thread": {"id": thread.thread_id, "title": thread.title}}


def inference_result(target: Target, result: JsonObject) -> CompleteInference:
    """A runner's answer as a command. Invalid when it breaks the limits; NUL and surrogates become U+FFFD
    (PUB22).
    """
    body = as_object(storable_json(result))
    payload = check_object("result.payload", as_object(body.get("payload")))
    confidence = maybe_number(body, "confidence")
    if confidence is not None and not 0 <= confidence <= 1:
        raise Invalid("INVALID_RESULT", "confidence is between 0 and 1", field="result.confidence")
    cost = maybe_number(body, "cost_usd") or 0.0
    if cost < 0:
        raise Invalid("INVALID_RESULT", "cost_usd is not negative", field="result.cost_usd")
    return CompleteInference(
        payload=payload,
        draft=_draft(payload) if target is Target.ACTION else None,
        confidence=confidence,
        model_used=text(body, "model_used")[: limits.NAME_MAX],
        tier_used=text(body, "tier_used")[: limits.NAME_MAX],
        cost_usd=cost,
    )


def combined_result(result: JsonObject) -> CompleteCombined | None:
    """An answer to all three at once; None when it is none."""
    answers = as_object(result.get("combined"))
    if set(answers) != set(Target):
        return None
    intent, context, action = (inference_result(target, as_object(answers[target])) for target in Target)
    return CompleteCombined(intent, context, action)


def _draft(payload: JsonObject) -> ActionDraft:
    contexts = payload.get("required_contexts")
    return ActionDraft(
        kind=text(payload, "kind"),
        name=text(payload, "name"),
        parameters=as_object(payload.get("parameters")),
        plan_summary=text(payload, "plan_summary"),
        text=text(payload, "text"),
        rationale=text(payload, "rationale"),
        blocked_on=text(payload, "blocked_on"),
        required_contexts=tuple(str(entry) for entry in contexts) if isinstance(contexts, list) else (),
        intrinsic_amplifiers=as_object(payload.get("intrinsic_amplifiers")),
        irreversibility=text(payload, "irreversibility"),
        regret_potential=text(payload, "regret_potential"),
        risk_amplifier=bool(payload.get("risk_amplifier")),
        estimated_cost_usd=maybe_number(payload, "estimated_cost_usd"),
    )


def _inferred_text(inferred: Inferred | None, key: str) -> str | None:
    return None if inferred is None else text(inferred.payload, key) or None
