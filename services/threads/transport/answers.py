"""Answers of commands: written from an outcome, stored for repeats, read back."""

from __future__ import annotations

from services.kernel.idempotency import ANSWER_MOST
from services.threads.application.commands import Outcome
from services.threads.domain.events import Actor, Event
from services.threads.domain.kinds import Kind
from services.threads.domain.reading import text
from services.threads.transport.card import card, state_of, timestamp
from treadle.threads.v1 import thread_event_pb2 as event_pb
from treadle.threads.v1 import thread_service_pb2 as pb


class DecisionAnswer:
    """See application.commands.Answer: what a decision did."""

    def write(self, outcome: Outcome) -> pb.Decision:
        """States before and after, and the event that records it."""
        thread = outcome.thread
        decision = pb.Decision(
            name=f"threads/{thread.thread_id}",
            thread_id=thread.thread_id,
            prev_state=state_of(outcome.prev_state),
            next_state=state_of(thread.state),
            etag=thread.etag,
            decision_time=timestamp(thread.update_time),
        )
        moves = [event for event in outcome.events if event.kind is Kind.STATE_TRANSITION]
        recorded = (moves or list(outcome.events))[-1:]
        if recorded:
            decision.event_id = recorded[0].id
            decision.decision_time.CopyFrom(timestamp(recorded[0].time))
        for event in outcome.events:
            if event.kind is Kind.ACTION_REDIRECTED:
                decision.superseded_event_id = text(event.data, "superseded_event_id")
            if event.kind is Kind.LATER and thread.resurface_at is not None:
                decision.resurface_at.CopyFrom(timestamp(thread.resurface_at))
        return decision

    def dump(self, answer: pb.Decision) -> bytes:
        """A few hundred bytes."""
        return answer.SerializeToString()

    def load(self, stored: bytes) -> pb.Decision:
        """As stored."""
        return pb.Decision.FromString(stored)


class CardAnswer:
    """See application.commands.Answer: a new thread's card. A large one is stored by its name only."""

    def write(self, outcome: Outcome) -> pb.Thread:
        """The card."""
        return card(outcome.thread, {})

    def dump(self, answer: pb.Thread) -> bytes:
        """The card, or its name where the card is too large to be kept."""
        whole = answer.SerializeToString()
        return whole if len(whole) <= ANSWER_MOST else pb.Thread(name=answer.name).SerializeToString()

    def load(self, stored: bytes) -> pb.Thread:
        """The card, or one with nothing but its name: the caller reads it then."""
        return pb.Thread.FromString(stored)


def event(written: Event, data_json: bytes) -> event_pb.ThreadEvent:
    """An entry of the log."""
    return event_pb.ThreadEvent(
        id=written.id,
        seq=written.seq,
        kind=written.kind,
        actor=_actor(written.actor),
        event_time=timestamp(written.time),
        data_json=data_json,
        migration_id=text(written.data, "migration_id"),
    )


def _actor(actor: Actor) -> event_pb.Actor:
    return event_pb.Actor(kind=event_pb.Actor.Kind.Value(f"KIND_{actor.kind.upper()}"), subject=actor.subject)
