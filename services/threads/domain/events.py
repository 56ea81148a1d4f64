"""An event of a thread's log, its actor, and the one place where events are numbered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.threads.domain.canonical import JsonObject
from services.threads.domain.kinds import RESERVED, Kind


class ActorKind(StrEnum):
    """Who acts; it comes from the verified caller, never from a body (section 0.3)."""

    USER = "user"
    AGENT = "agent"
    SERVICE = "service"
    FSM = "fsm_engine"


@dataclass(frozen=True)
class Actor:
    """`subject` is the verified principal's subject or the name of a duty; empty for the state machine."""

    kind: ActorKind
    subject: str


FSM = Actor(ActorKind.FSM, "")
"""Moves that follow by themselves from another event."""


@dataclass(frozen=True)
class Event:
    """One line of the log. `id` is `evt_…`; `seq` is 1..n without holes within a thread; `time` is UTC."""

    id: str
    kind: Kind
    seq: int
    time: datetime
    actor: Actor
    data: JsonObject


@dataclass(frozen=True)
class Fact:
    """An event before it has a number. `actor` None means the caller of the command."""

    kind: Kind
    data: JsonObject
    actor: Actor | None = None


def number(
    facts: Iterable[Fact], after: int, now: datetime, actor: Actor, new_id: Callable[[], str]
) -> tuple[Event, ...]:
    """Give facts the numbers after `after`. A reserved kind is a bug, not a refusal."""
    events = []
    for offset, fact in enumerate(facts, start=1):
        if fact.kind in RESERVED:
            raise ValueError(f"reserved kind {fact.kind} cannot be emitted")
        events.append(Event(new_id(), fact.kind, after + offset, now, fact.actor or actor, fact.data))
    return tuple(events)
