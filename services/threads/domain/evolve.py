"""What an event makes of a thread. Total over the catalogue; decides and refuses nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from services.threads.domain.canonical import JsonObject
from services.threads.domain.cascade import cascade_from
from services.threads.domain.created import created
from services.threads.domain.events import Event
from services.threads.domain.items import with_moved
from services.threads.domain.kinds import Kind
from services.threads.domain.moved import moved
from services.threads.domain.proposal import ActionKind, Proposal, as_object
from services.threads.domain.reading import maybe_number, maybe_text, text
from services.threads.domain.states import State, Target
from services.threads.domain.thread import (
    AutoAdvance,
    Execution,
    Feedback,
    FeedbackKind,
    Inferred,
    Relationship,
    Thread,
)


def rebuild(events: Iterable[Event]) -> Thread:
    """The thread of a whole log. Raises ValueError on an empty log, a hole or a second beginning."""
    thread: Thread | None = None
    for event in events:
        thread = evolve(thread, event)
    if thread is None:
        raise ValueError("a log without events is no thread")
    return thread


def evolve(thread: Thread | None, event: Event) -> Thread:
    """Apply the next event. Raises ValueError if it is not the next one."""
    if event.seq != (thread.seq if thread else 0) + 1:
        raise ValueError(f"event {event.seq} does not follow {thread.seq if thread else 0}")
    if thread is None:
        if event.kind is not Kind.THREAD_CREATED:
            raise ValueError(f"a log does not begin with {event.kind}")
        return created(event)
    return replace(_apply(thread, event), seq=event.seq, update_time=event.time, last_event_id=event.id)


def _apply(thread: Thread, event: Event) -> Thread:
    data = event.data
    match event.kind:
        case Kind.STATE_TRANSITION:
            return moved(thread, event)
        case Kind.INTENT_INFERRED:
            return replace(_spent(thread, data, Target.INTENT), intent=_inferred(data))
        case Kind.CONTEXT_INFERRED:
            return replace(_spent(thread, data, Target.CONTEXT), context=_inferred(data))
        case Kind.ACTION_INFERRED:
            return _proposed(thread, event)
        case Kind.ACTION_REDIRECTED:
            return _redirected(thread, event)
        case Kind.EXECUTION_STARTED:
            return replace(thread, execution=Execution(text(data, "proposal_id"), started=True))
        case Kind.EXECUTION_FINISHED:
            return _finished(thread, event)
        case Kind.SUBTHREADS_SPAWNED | Kind.GROUPS_SPAWNED:
            return _spawned(thread, data)
        case Kind.SUBTHREAD_TERMINAL_REPORTED:
            dismissed = text(data, "child_terminal_state") == State.DISMISSED
            return replace(
                thread,
                open_children=thread.open_children - 1,
                dismissed_children=thread.dismissed_children + dismissed,
                policy_met=thread.policy_met or bool(data.get("policy_met")),
            )
        case Kind.AUTO_ADVANCE_DECISION:
            return replace(thread, trail=(*thread.trail, _advanced(data)))
        case Kind.CONTEXT_ITEM_MOVED:
            return replace(thread, context_items=with_moved(thread.context_items, data))
        case Kind.THREAD_RENAMED:
            return replace(thread, title=text(data, "new_title"))
        case Kind.LATER:
            until = None if data.get("resurfaced") else datetime.fromisoformat(text(data, "resurface_at"))
            return replace(thread, resurface_at=until, been_later=True)
        case _:
            return thread


def _spawned(thread: Thread, data: JsonObject) -> Thread:
    children = data.get("child_thread_ids")
    more = len(children) if isinstance(children, list | tuple) else 0
    policy = data.get("cascade_policy")
    return replace(
        thread,
        children=thread.children + more,
        open_children=thread.open_children + more,
        parent_relationship=Relationship(text(data, "parent_relationship") or thread.parent_relationship),
        cascade_policy=thread.cascade_policy if policy is None else cascade_from(policy),
        originating_scrape_id=maybe_text(data, "originating_scrape_id") or thread.originating_scrape_id,
    )


def _spent(thread: Thread, data: JsonObject, target: Target) -> Thread:
    cost = maybe_number(data, "cost_usd") or 0.0
    return replace(thread, spent_usd=thread.spent_usd + cost, inferred=thread.inferred | {target})


def _inferred(data: JsonObject) -> Inferred:
    return Inferred(
        as_object(data.get("payload")), maybe_number(data, "confidence"), bool(data.get("from_user_override"))
    )


def _proposed(thread: Thread, event: Event) -> Thread:
    data = event.data
    if data.get("cleared"):
        return replace(thread, proposal=None)
    thread = _spent(thread, data, Target.ACTION)
    content = as_object(data.get("payload"))
    kind = ActionKind(text(content, "kind"))
    if kind is ActionKind.CLARIFICATION:
        return replace(thread, question=text(content, "blocked_on") or text(content, "text"))
    revision = data.get("revision")
    proposal = Proposal(
        proposal_id=text(data, "proposal_id"),
        revision=revision if isinstance(revision, int) else 0,
        kind=kind,
        name=text(content, "name"),
        content=content,
        requires_post_review=bool(content.get("requires_post_review")),
        idempotent=bool(content.get("idempotent")),
        confidence=maybe_number(data, "confidence"),
        model_used=text(data, "model_used"),
        tier_used=text(data, "tier_used"),
        by_user=bool(data.get("from_user_override")),
        event_id=event.id,
    )
    answered = () if not proposal.by_user else thread.feedback
    return replace(thread, proposal=proposal, revision=proposal.revision, question="", feedback=answered)


def _redirected(thread: Thread, event: Event) -> Thread:
    data = event.data
    said = Feedback(
        FeedbackKind.REDIRECT,
        Target.ACTION,
        text(data, "feedback"),
        event.seq,
        as_object(data.get("seed_params")),
        text(data, "target_action"),
    )
    return replace(thread, feedback=(*thread.feedback, said))


def _finished(thread: Thread, event: Event) -> Thread:
    data = event.data
    if data.get("late"):
        return thread
    before = thread.execution
    execution = Execution(
        text(data, "proposal_id"),
        started=before is not None and before.started,
        finished=True,
        success=bool(data.get("success")),
        code=text(data, "code"),
        finish_time=event.time,
    )
    return replace(thread, execution=execution)


def _advanced(data: JsonObject) -> AutoAdvance:
    axes = data.get("axes")
    return AutoAdvance(
        target=Target(text(data, "target")),
        advance=bool(data.get("advance")),
        confidence=maybe_number(data, "confidence"),
        chosen_state=State(text(data, "chosen_state")),
        axes=tuple(str(axis) for axis in axes) if isinstance(axes, list | tuple) else (),
    )
