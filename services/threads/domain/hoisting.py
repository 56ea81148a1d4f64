"""The hoist of a singular umbrella: the actions of its descendants, on its card (threads.md, sections 0.7, 4.10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from services.threads.domain.errors import CorruptFamily
from services.threads.domain.proposal import Proposal
from services.threads.domain.states import State
from services.threads.domain.thread import Relationship, Thread

_STATES: Final = {
    State.EXECUTING: "executing",
    State.MONITORING: "executing",
    State.DONE: "done",
    State.HANDED_OFF: "done",
    State.DONE_CLEANUP_SUCCESSFUL: "done",
    State.DISMISSED: "rejected",
    State.AWAITING_REDIRECT: "failed",
}
"""Everything else is pending (section 0.6)."""
_SETTLED: Final = frozenset({"done", "rejected", "failed"})


@dataclass(frozen=True, slots=True)
class Member:
    """As much of a descendant as the hoist needs."""

    thread_id: str
    parent_id: str
    ordinal: int
    state: State
    title: str
    singular: bool
    proposal: Proposal | None


@dataclass(frozen=True, slots=True)
class Hoisted:
    """An action with its host: the deepest thread that owns the proposal."""

    proposal: Proposal
    host_thread_id: str
    host_title: str
    host_state: State
    state: str
    settled: bool


def hoists_from(thread: Thread) -> bool:
    """Only a singular umbrella without an action of its own shows those of its descendants."""
    singular = thread.parent_relationship is Relationship.SINGULAR
    return singular and thread.children > 0 and thread.proposal is None


def by_parent(members: Iterable[Member]) -> Mapping[str, Sequence[Member]]:
    """Children in spawn order, last one first."""
    children: dict[str, list[Member]] = {}
    for member in members:
        children.setdefault(member.parent_id, []).append(member)
    for siblings in children.values():
        siblings.sort(key=lambda one: (one.ordinal, one.thread_id), reverse=True)
    return children


def hoist(umbrella_id: str, children: Mapping[str, Sequence[Member]]) -> list[Hoisted]:
    """Pending first in spawn order, settled last in spawn order; never by update time.

    Descends through singular umbrellas without an action of their own. CorruptFamily on a cycle.
    """
    found: list[Hoisted] = []
    seen = {umbrella_id}
    waiting = list(children.get(umbrella_id, ()))
    while waiting:
        member = waiting.pop()
        if member.thread_id in seen:
            raise CorruptFamily(member.thread_id)
        seen.add(member.thread_id)
        if member.proposal is not None:
            # a redirected action stays until the next is inferred: its host is not at the gate meanwhile
            state = _STATES.get(member.state, "pending")
            found.append(
                Hoisted(member.proposal, member.thread_id, member.title, member.state, state, settled=state in _SETTLED)
            )
        elif member.singular:
            waiting.extend(children.get(member.thread_id, ()))
    return sorted(found, key=lambda one: one.settled)


def member_of(thread: Thread) -> Member:
    """A whole thread as a member."""
    singular = thread.parent_relationship is Relationship.SINGULAR
    parent = thread.parent_id or ""
    return Member(thread.thread_id, parent, thread.ordinal, thread.state, thread.title, singular, thread.proposal)
