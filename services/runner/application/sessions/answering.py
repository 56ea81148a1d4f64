"""A reviewer's answer in words, for an agent that did not ask the question itself (design/streaming.md S.6)."""

from __future__ import annotations

from services.runner.domain.agent import GateKind
from services.runner.domain.session import GateClosedBy


def told(order: GateClosedBy) -> str:
    """The reviewer's answer in words, for an agent that did not hear the question."""
    said = order.reply.text if order.reply.value in (None, "other") else order.reply.value
    match order.kind:
        case GateKind.JOIN_REVIEW if order.reply.value == "other":
            return f"The reviewer did not accept the joins: {said}\nPropose the complete corrected set again."
        case GateKind.JOIN_REVIEW:
            return "The reviewer accepted all proposed joins."
        case GateKind.PHASE_SUMMARY if order.reply.value == "continue":
            return "The reviewer accepted the summary: go on."
        case _:
            question = order.proposal.get("question") or order.proposal.get("title") or ""
            return f"The reviewer answered {question!r}: {said}" if question else f"The reviewer answered: {said}"
