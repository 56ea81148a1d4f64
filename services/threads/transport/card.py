"""A thread as a card (design/threads.md, section 4.10). Shows what is on the allow-list of the proto,
nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from google.protobuf.timestamp_pb2 import Timestamp

from services.threads.domain.autonomy import LEVELS
from services.threads.domain.canonical import JsonObject, canonical_json
from services.threads.domain.cleaning import cleanup_of
from services.threads.domain.hoisting import Hoisted
from services.threads.domain.policy_json import policy_json
from services.threads.domain.proposal import ActionKind, Proposal
from services.threads.domain.ranking import behind
from services.threads.domain.reading import text
from services.threads.domain.states import CLARIFICATION, CONFIRMATION, State, Target, is_terminal, is_wait
from services.threads.domain.thread import ContextItem, Inferred, Thread
from treadle.threads.v1 import thread_service_pb2 as pb

_STAND_IN: Final = {
    ActionKind.STANDARD: "(unnamed standard action)",
    ActionKind.IMPROVISED: "(improvised)",
    ActionKind.SUGGESTION: "(suggestion)",
    ActionKind.CLARIFICATION: "(unknown)",
}
_HOISTED_BYTES: Final = 2 * 1024 * 1024
_SUMMARY_PARAMETERS: Final = ("title", "subject", "description", "name")


_STATE_NUMBERS: Final = {state: pb.Thread.State.Value(f"STATE_{state.name}") for state in State}
_KIND_NUMBERS: Final = {kind: pb.Action.Kind.Value(f"KIND_{kind.name}") for kind in ActionKind}


def timestamp(time: datetime) -> Timestamp:
    """UTC."""
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp


def state_of(state: State) -> pb.Thread.State.ValueType:
    """The enum's number of a state."""
    return _STATE_NUMBERS[state]


def card(thread: Thread, child_states: dict[State, int], hoisted: Sequence[Hoisted] = ()) -> pb.Thread:
    """The card; a singular umbrella's has the actions of its descendants (section 4.10)."""
    shown = pb.Thread(
        name=f"threads/{thread.thread_id}",
        id=thread.thread_id,
        etag=thread.etag,
        state=state_of(thread.state),
        create_time=timestamp(thread.create_time),
        update_time=timestamp(thread.update_time),
        title=thread.title,
        description=thread.description,
        parent_id=thread.parent_id or "",
        root_id=thread.root_id,
        urgency=thread.urgency,
        card_kind=_card_kind(thread.state),
        display_mode=_display_mode(thread.state),
        intent=_intent(thread),
        context=_context(thread.context),
        context_items=_items(thread),
        actions=_hoisted(hoisted) if thread.proposal is None else [action(thread.proposal)],
        hoisted_count=len(hoisted),
        risk_highlight=_highest([thread.proposal, *(one.proposal for one in hoisted)]),
        auto_advance_trail=[
            pb.Thread.AutoAdvance(
                target=entry.target,
                advance=entry.advance,
                confidence=entry.confidence,
                chosen_state=state_of(entry.chosen_state),
                axes=entry.axes,
            )
            for entry in thread.trail
        ],
        latest_activity=timestamp(thread.update_time),
        sub_thread_count=thread.children,
        sub_thread_state_counts={state.value: count for state, count in child_states.items()},
        parent_relationship=pb.Thread.Relationship.Value(f"RELATIONSHIP_{thread.parent_relationship.name}"),
        originating_scrape_id=thread.originating_scrape_id or "",
        open_children=thread.open_children,
        ordinal=thread.ordinal,
        path=thread.path,
        has_been_later=thread.been_later,
        parent_event_id=thread.last_event_id,
        question=thread.question if thread.state in CLARIFICATION.values() else "",
        waiting_behind=behind(thread),
        can_clean_up=cleanup_of(thread) is not None,
        autonomy_json=canonical_json(policy_json(thread.autonomy)),
        session_id=thread.session_id,
        turn_id=thread.turn_id,
    )
    if thread.resurface_at is not None:
        shown.resurface_at.CopyFrom(timestamp(thread.resurface_at))
    if thread.children:
        rule = thread.policy_in_force
        shown.cascade_policy.rule = pb.CascadePolicy.Rule.Value(f"RULE_{rule.rule.name}")
        shown.cascade_policy.n = rule.n
    _add_outcome(shown, thread)
    return shown


def action(proposal: Proposal, **hoisted: Any) -> pb.Action:
    """A proposal as an action on a card; `hoisted`: what a hoisted one has besides."""
    content = proposal.content
    contexts = content.get("required_contexts")
    return pb.Action(
        id=proposal.action_id,
        proposal_id=proposal.proposal_id,
        proposal_digest=proposal.digest,
        revision=proposal.revision,
        name=proposal.name or _STAND_IN[proposal.kind],
        kind=_KIND_NUMBERS[proposal.kind],
        parameters_json=canonical_json(proposal.parameters),
        plan_summary=_summary(proposal),
        rationale=text(content, "rationale"),
        blocked_on=text(content, "blocked_on"),
        required_contexts=[str(entry) for entry in contexts] if isinstance(contexts, list | tuple) else [],
        irreversibility=text(content, "irreversibility"),
        regret_potential=text(content, "regret_potential"),
        risk_amplifier=bool(content.get("risk_amplifier")),
        confidence=proposal.confidence,
        model_used=proposal.model_used,
        **hoisted,
    )


def _hoisted(hoisted: Sequence[Hoisted]) -> list[pb.Action]:
    """As many as fit a message with all else on the card; `hoisted_count` tells how many there are."""
    shown, size = [], 0
    for one in hoisted:
        made = action(
            one.proposal,
            host_thread_id=one.host_thread_id,
            host_title=one.host_title,
            host_state=_STATE_NUMBERS[one.host_state],
            state=one.state,
            settled=one.settled,
        )
        size += made.ByteSize()
        if size > _HOISTED_BYTES:
            break
        shown.append(made)
    return shown


def _intent(thread: Thread) -> pb.Thread.Intent:
    inferred = thread.intent
    return pb.Thread.Intent(
        text=text(inferred.payload, "intent") if inferred else thread.description or thread.title,
        editable=thread.state is CONFIRMATION[Target.INTENT],
        confidence=inferred.confidence if inferred else None,
    )


def _context(inferred: Inferred | None) -> pb.Thread.Context:
    if inferred is None:
        return pb.Thread.Context()
    said = text(inferred.payload, "context") or text(inferred.payload, "summary")
    return pb.Thread.Context(text=said, confidence=inferred.confidence)


def shown_item(item: ContextItem, index: int) -> pb.ContextItem:
    """An item at its place, from 1."""
    return pb.ContextItem(
        id=item.id,
        source=item.source,
        type=item.type,
        label=item.label or item.id,
        payload_json=canonical_json(item.payload),
        display_index=index,
    )


def _items(thread: Thread) -> list[pb.ContextItem]:
    return [shown_item(item, index) for index, item in enumerate(thread.context_items, start=1)]


def _card_kind(state: State) -> pb.Thread.CardKind.ValueType:
    if state is State.AWAITING_CONFIRMATION:
        return pb.Thread.CARD_KIND_CONSENT
    if state in CLARIFICATION.values():
        return pb.Thread.CARD_KIND_CLARIFICATION
    if state is State.AWAITING_REVIEW:
        return pb.Thread.CARD_KIND_REVIEW
    if state is State.AWAITING_REDIRECT:
        return pb.Thread.CARD_KIND_REDIRECT
    if state is State.DONE_CLEANUP_UNSUCCESSFUL:
        return pb.Thread.CARD_KIND_CLEANUP_FAILURE
    return pb.Thread.CARD_KIND_CONFIRMATION


def _display_mode(state: State) -> pb.Thread.DisplayMode.ValueType:
    if is_terminal(state):
        return pb.Thread.DISPLAY_MODE_TERMINAL
    return pb.Thread.DISPLAY_MODE_ACTIONABLE if is_wait(state) else pb.Thread.DISPLAY_MODE_MID_PROCESS


def _highest(proposals: Sequence[Proposal | None]) -> str:
    """The highest level over all actions, settled ones too."""
    found = {_risk(proposal) for proposal in proposals}
    return next((level for level in reversed(LEVELS) if level in found), "")


def _risk(proposal: Proposal | None) -> str:
    """The highest known level; an amplifier lifts it to at least medium."""
    if proposal is None:
        return ""
    content = proposal.content
    levels: list[str] = [text(content, "irreversibility"), text(content, "regret_potential")]
    if content.get("risk_amplifier"):
        levels.append("medium")
    known = [level for level in LEVELS if level in levels]
    return known[-1] if known else ""


def _summary(proposal: Proposal) -> str:
    """The plan's own words, else the most telling parameter (section 4.10)."""
    content = proposal.content
    said = text(content, "plan_summary")
    if proposal.kind is ActionKind.SUGGESTION:
        return text(content, "text") or said
    if said or proposal.kind is not ActionKind.STANDARD:
        return said
    return _of_parameters(proposal.parameters)


def _of_parameters(parameters: JsonObject) -> str:
    for name in _SUMMARY_PARAMETERS:
        if said := text(parameters, name):
            return said
    for name, value in parameters.items():
        shown = value if isinstance(value, str) else canonical_json(value).decode()
        return f"{name}: {shown if len(shown) <= 60 else shown[:59] + '…'}"
    return ""


def _add_outcome(shown: pb.Thread, thread: Thread) -> None:
    """What a person needs to know after an execution or a clean-up: codes only (I8)."""
    execution, proposal = thread.execution, thread.proposal
    name = proposal.name if proposal else ""
    if thread.state is State.AWAITING_REDIRECT:
        failure = pb.Thread.FailureContext(code=thread.reason, action=name)
        failure.failure_time.CopyFrom(timestamp(thread.since))
        shown.failure_context.CopyFrom(failure)
    if thread.state is State.AWAITING_REVIEW:
        review = pb.Thread.ReviewContext(action=name)
        ended = execution.finish_time if execution else None
        review.execution_time.CopyFrom(timestamp(ended or thread.since))
        shown.review_context.CopyFrom(review)
    if thread.state is State.DONE_CLEANUP_UNSUCCESSFUL:
        shown.cleanup_failure = thread.reason
