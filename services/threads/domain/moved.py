"""What a state_transition makes of a thread."""

from __future__ import annotations

from dataclasses import replace

from services.threads.domain.canonical import JsonObject
from services.threads.domain.errors import Decided
from services.threads.domain.events import Event
from services.threads.domain.proposal import as_object
from services.threads.domain.reading import maybe_number, maybe_text, text
from services.threads.domain.states import CONFIRMATION, TARGET_OF, TERMINAL, WAIT, State, Target
from services.threads.domain.thread import Execution, Feedback, FeedbackKind, Thread
from services.threads.domain.triggers import Trigger


def moved(thread: Thread, event: Event) -> Thread:
    """Apply one move. Whatever waits for inference has no standing proposal: the old one becomes the
    prior one.
    """
    data = event.data
    to = State(text(data, "to"))
    thread = replace(
        thread,
        state=to,
        since=event.time if to is not thread.state else thread.since,
        reason=text(data, "reason"),
        decided=_decided(thread, event, to),
        feedback=(*thread.feedback, *_said(thread, event)),
        resurface_at=None if to in TERMINAL else thread.resurface_at,
        spent_usd=thread.spent_usd + (maybe_number(data, "cost_usd") or 0.0),
    )
    if to is State.AWAITING_INFERENCE:
        target = Target(text(data, "target"))
        if data.get("combined"):
            return replace(thread, target=target)
        superseded = thread.proposal or thread.prior_proposal
        inferred = _still_inferred(thread, text(data, "from"), target)
        return replace(thread, target=target, proposal=None, prior_proposal=superseded, inferred=inferred)
    if text(data, "trigger") == Trigger.CHILDREN_SPAWNED and text(data, "from") != State.EXECUTING:
        superseded = thread.proposal or thread.prior_proposal
        return replace(thread, proposal=None, prior_proposal=superseded)  # its children act instead
    if to is State.EXECUTING and thread.proposal is not None:
        return replace(thread, execution=Execution(thread.proposal.proposal_id))
    if to is State.HANDED_OFF:
        return replace(thread, handed_to=text(data, "handed_to"))
    return thread


def _still_inferred(thread: Thread, before: str, target: Target) -> frozenset[Target]:
    """What a combined call had guessed beyond a gate is worth nothing when a person changes what it stands on."""
    if Target.ACTION not in thread.inferred or before not in (
        CONFIRMATION[Target.INTENT],
        CONFIRMATION[Target.CONTEXT],
    ):
        return thread.inferred
    order = list(Target)
    return frozenset(one for one in thread.inferred if order.index(one) < order.index(target))


def _decided(thread: Thread, event: Event, to: State) -> Decided | None:
    """The last decision, remembered until the thread waits for the next one."""
    entry = as_object(event.data.get("decision"))
    if not entry:
        return None if to in WAIT else thread.decided
    return decided_by(event, entry)


def decided_by(event: Event, entry: JsonObject) -> Decided:
    """A line of the ledger out of its event."""
    return Decided(
        choice=text(entry, "choice"),
        actor=event.actor,
        time=event.time,
        seq=event.seq,
        proposal_id=maybe_text(entry, "proposal_id"),
        digest=maybe_text(entry, "digest"),
        cited_proposal_id=maybe_text(entry, "cited_proposal_id"),
    )


def _said(thread: Thread, event: Event) -> tuple[Feedback, ...]:
    """Words that travel in the move itself; redirects of an action have an event of their own."""
    data = event.data
    trigger = text(data, "trigger")
    if trigger == Trigger.PROVIDED and text(data, "text"):
        about = TARGET_OF.get(thread.state, Target.ACTION)
        return (Feedback(FeedbackKind.CLARIFICATION, about, text(data, "text"), event.seq),)
    if trigger == Trigger.REDIRECTED and text(data, "target") != Target.ACTION:
        about = TARGET_OF.get(thread.state, Target.ACTION)
        return (Feedback(FeedbackKind.REDIRECT, about, text(data, "redirect_feedback"), event.seq),)
    return ()
