"""What a parent waits for in the end: the open threads below it, failed ones first (threads.md, sections 0.5, 0.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from services.threads.domain.cascade import Rule
from services.threads.domain.explaining import Explanation, explain
from services.threads.domain.states import State
from services.threads.domain.thread import Thread

_NAMED: Final = 3
"""Threads that the sentence names; the rest is in the list."""
_TITLE_MOST: Final = 60


@dataclass(frozen=True)
class WaitedFor:
    """An open thread below, with what it waits for itself. `code` says why it failed, empty where it did not."""

    thread_id: str
    title: str
    state: State
    since: datetime
    waits_on: str
    code: str
    moves: tuple[str, ...]
    summary: str


@dataclass(frozen=True)
class FamilyExplanation:
    """An explanation with the open threads that a parent waits for; `count`: how many there are in all."""

    told: Explanation
    waits_for: tuple[WaitedFor, ...] = ()
    count: int = 0


def explain_family(parent: Thread, waited: Sequence[Thread], count: int) -> FamilyExplanation:
    """`waited`: open threads below that are no parents of open ones, failed ones first, then in spawn order."""
    told = explain(parent)
    listed = tuple(_waited(thread) for thread in waited)
    if not listed:
        return FamilyExplanation(told)
    named = ", ".join(f"“{_short(one.title)}” ({one.summary.rstrip('.')})" for one in listed[:_NAMED])
    more = f" and {count - _NAMED} more" if count > _NAMED else ""
    summary = f"{_what(parent)}: {named}{more}."
    return FamilyExplanation(replace(told, summary=summary), listed, count)


def _what(parent: Thread) -> str:
    tally, policy = parent.tally, parent.policy_in_force
    open_ones = f"{tally.open} open sub-thread{'' if tally.open == 1 else 's'}"
    if parent.policy_met:
        return f"Has what it needs; waits for {open_ones} to stop executing"
    if policy.ends_early:
        wanted = policy.n if policy.rule is Rule.QUORUM else 1
        left = wanted - tally.fulfilled
        if left <= tally.open:
            return f"Waits for {left} of {open_ones} to end well"
    return f"Waits for {open_ones}"


def _waited(thread: Thread) -> WaitedFor:
    told = explain(thread)
    code = thread.reason if thread.state is State.AWAITING_REDIRECT else ""
    return WaitedFor(
        thread.thread_id, thread.title, thread.state, thread.since, told.waits_on, code, told.moves, told.summary
    )


def _short(title: str) -> str:
    return title if len(title) <= _TITLE_MOST else title[: _TITLE_MOST - 1] + "…"
