"""The JSON of job payloads and results, shared with the threads service (which writes and reads the other side).

Inference payload:
    {"target": "intent" | "context" | "action",
     "thread": {"id", "title", "description"},
     "context_items": [{"id", "source", "type", "label", "payload"}],
     "intent": str | null, "context": str | null,
     "feedback": [{"text", "params"?, "target_action"?}],   oldest first, unresolved only (§0.8)
     "clarifications": [str],                                oldest first
     "prior_proposal": {"name", "parameters", …} | null,
     "combined"?: true: answer all three targets, the result then has {"combined": {target: result, …}} as well,
     "tiers"?: {"floor", "ceiling"},
     "actions": [{"capability_name", "description", "parameters_schema"}]}
Inference result: {"payload": {…}, "confidence", "model_used", "tier_used", "cost_usd"}, the payload by target:
    intent   {"intent": str}
    context  {"context": str, "required_contexts": [str]}
    action   {"kind": "standard" | "suggestion" | "clarification" | "improvised", "name", "parameters", "plan_summary",
              "rationale", "blocked_on"?, "text"?, "irreversibility"?, …} as in §3.4
    An empty payload means: nothing to say (§0.8).
Execution payload: {"proposal": {"proposal_id", "digest", "name", "parameters"}, "thread": {"id", "title"},
                    "idempotency_key": str}
Execution result: {"success": true, "result": {…}}. A failure is FailJob with a code of domain.failure.Code.
Cleanup payload: {"adapter", "parameters": {…}, "thread": {"id", "title"}}
Cleanup result: {"success": true, "source_already_gone": bool}
Unknown keys are ignored in both directions, so that N and N-1 run side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from services.kernel.text import storable_json
from services.runner.application.ports import LeasedJob
from services.runner.domain.failure import Code, Failed
from services.runner.domain.task import (
    CleanupTask,
    ExecutionTask,
    Feedback,
    Guess,
    InferenceTask,
    Item,
    Matter,
    Offer,
    PriorProposal,
    Target,
)


class JsonCodec:
    """Reads payloads (Failed(invalid_payload) for what is not of the shape above), writes results."""

    def inference_task(self, job: LeasedJob) -> InferenceTask:
        """The task of an inference job."""
        body = _object(job.payload)
        try:
            return InferenceTask(
                target=Target(body["target"]),
                matter=_matter(body["thread"]),
                items=tuple(_item(item) for item in body.get("context_items") or ()),
                intent=body.get("intent") or "",
                context=body.get("context") or "",
                feedback=tuple(_feedback(entry) for entry in body.get("feedback") or ()),
                clarifications=tuple(str(text) for text in body.get("clarifications") or ()),
                prior=_prior(body.get("prior_proposal")),
                offers=tuple(_offer(entry) for entry in body.get("actions") or ()),
                attempt=job.attempt,
                combined=body.get("combined") is True,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise Failed(Code.INVALID_PAYLOAD, f"inference payload: {fault!r}") from fault

    def execution_task(self, job: LeasedJob) -> ExecutionTask:
        """The task of an execution job."""
        body = _object(job.payload)
        try:
            proposal = body["proposal"]
            return ExecutionTask(
                matter=_matter(body["thread"]),
                proposal_id=str(proposal["proposal_id"]),
                name=str(proposal["name"]),
                parameters=dict(proposal.get("parameters") or {}),
                idempotency_key=str(body.get("idempotency_key") or job.id),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise Failed(Code.INVALID_PAYLOAD, f"execution payload: {fault!r}") from fault

    def cleanup_task(self, job: LeasedJob) -> CleanupTask:
        """The task of a cleanup job."""
        body = _object(job.payload)
        try:
            return CleanupTask(_matter(body["thread"]), str(body["adapter"]), dict(body.get("parameters") or {}))
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise Failed(Code.INVALID_PAYLOAD, f"cleanup payload: {fault!r}") from fault

    def guess(self, guess: Guess) -> bytes:
        """The result of an inference. Text of a model may hold lone surrogates: they become U+FFFD (PUB22)."""
        return _dump(_answer(guess))

    def combined(self, guesses: Mapping[Target, Guess]) -> bytes:
        """The result of a combined inference: the intent as ever, and all three beside it."""
        answers = {target: _answer(guess) for target, guess in guesses.items()}
        return _dump({**answers[Target.INTENT], "combined": answers})

    def result(self, result: Mapping[str, Any]) -> bytes:
        """The result of an execution."""
        return _dump({"success": True, "result": result})

    def cleaned(self, *, already_gone: bool) -> bytes:
        """The result of a cleanup."""
        return _dump({"success": True, "source_already_gone": already_gone})


def _answer(guess: Guess) -> dict[str, Any]:
    return {
        "payload": guess.payload,
        "confidence": guess.confidence,
        "model_used": guess.model,
        "tier_used": guess.tier,
        "cost_usd": guess.cost_usd,
    }


def _object(payload: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(payload)
    except orjson.JSONDecodeError as fault:
        raise Failed(Code.INVALID_PAYLOAD, str(fault)) from fault
    if not isinstance(body, dict):
        raise Failed(Code.INVALID_PAYLOAD, "not a JSON object")
    return body


def _dump(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(storable_json(value))


def _matter(body: Mapping[str, Any]) -> Matter:
    return Matter(str(body["id"]), body.get("title") or "", body.get("description") or "")


def _item(body: Mapping[str, Any]) -> Item:
    identity = str(body.get("id") or "")
    return Item(identity, body.get("label") or identity, "\n".join(_strings(body.get("payload"))))


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for entry in value.values():
                yield from _strings(entry)
        case list():
            for entry in value:
                yield from _strings(entry)


def _feedback(body: Mapping[str, Any]) -> Feedback:
    return Feedback(body.get("text") or "", dict(body.get("params") or {}), body.get("target_action") or None)


def _prior(body: Mapping[str, Any] | None) -> PriorProposal | None:
    if not body or not body.get("name"):
        return None
    return PriorProposal(str(body["name"]), dict(body.get("parameters") or {}))


def _offer(body: Mapping[str, Any]) -> Offer:
    return Offer(str(body["capability_name"]), body.get("description") or "", dict(body.get("parameters_schema") or {}))
