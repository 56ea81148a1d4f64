"""Everything around the work: creation, postponing, renaming, timers, cleanup, children, force close."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from services.kernel.errors import Invalid
from services.threads.domain import limits
from services.threads.domain.branches import BranchFacts, resolve
from services.threads.domain.canonical import Json
from services.threads.domain.checks import check_json, check_line, check_text
from services.threads.domain.commands import (
    CreateThread,
    FinishCleanup,
    ForceClose,
    Later,
    Rename,
    SettleChildren,
    SpawnChildren,
)
from services.threads.domain.created import item_json
from services.threads.domain.drafting import Draft
from services.threads.domain.errors import AlreadyTerminal, InvalidTransition
from services.threads.domain.events import Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import DECOMPOSE
from services.threads.domain.states import TERMINAL, State
from services.threads.domain.table import Branch, lookup
from services.threads.domain.thread import ContextItem, Thread
from services.threads.domain.triggers import Trigger


def checked_creation(command: CreateThread) -> CreateThread:
    """The command with its title trimmed; refuses what could never be stored or shown whole."""
    title = check_line("title", command.title, limits.TITLE_MAX)
    check_text("description", command.description, limits.DESCRIPTION_MAX)
    check_text("source", command.source, limits.NAME_MAX)
    if command.urgency not in ("surface_now", "defer"):
        raise Invalid("INVALID_FIELD", "urgency is surface_now or defer", field="urgency")
    if len(command.context_items) > limits.CONTEXT_ITEMS_MAX:
        most = limits.CONTEXT_ITEMS_MAX
        raise Invalid("INVALID_ITEMS", f"context_items has more than {most}", field="context_items", limit=most)
    seen: set[str] = set()
    for index, item in enumerate(command.context_items):
        _check_item(f"context_items[{index}]", item)
        if item.id in seen:
            raise Invalid("INVALID_ITEMS", "two context items have one id", field=f"context_items[{index}].id")
        seen.add(item.id)
    items = [item_json(item) for item in command.context_items]
    check_json("context_items", items, limits.CONTEXT_BYTES_MAX)
    return replace(command, title=title)


def postponed(thread: Thread, command: Later, now: datetime) -> Fact:
    """Hide until a time in the future, at most 366 days away (section 0.9a)."""
    if thread.state in TERMINAL:
        raise AlreadyTerminal(thread.state)
    if not now < command.resurface_at <= now + timedelta(hours=limits.DEFER_HOURS_MAX):
        most = limits.DEFER_HOURS_MAX
        raise Invalid("INVALID_TIME", f"the time is not within the next {most} hours", field="resurface_at", limit=most)
    return Fact(Kind.LATER, {"resurface_at": command.resurface_at.isoformat()})


def resurface(draft: Draft) -> Draft:
    """The thread is back; not yet, or back already, is nothing to write."""
    until = draft.thread.resurface_at
    if until is None or draft.stamp.now < until:
        return draft
    return draft.add(Fact(Kind.LATER, {"resurface_at": until.isoformat(), "resurfaced": True}))


def renamed(thread: Thread, command: Rename) -> Fact:
    """Trimmed, not blank."""
    if thread.state in TERMINAL:
        raise AlreadyTerminal(thread.state)
    title = check_line("title", command.title, limits.TITLE_MAX)
    return Fact(Kind.THREAD_RENAMED, {"previous_title": thread.title, "new_title": title})


def timeout(draft: Draft) -> Draft:
    """The timer of a proposed thread or of a review is due."""
    return draft.move(Trigger.TIMEOUT, data={"reason": "timeout"})


def finish_cleanup(draft: Draft, command: FinishCleanup) -> Draft:
    """A source that is already gone is a success."""
    if draft.thread.state is not State.CLEANING_UP:
        raise InvalidTransition(
            draft.thread.state, Trigger.CLEANUP_SUCCEEDED if command.success else Trigger.CLEANUP_FAILED
        )
    kind = Kind.SOURCE_CLEANED_UP if command.success else Kind.CLEANUP_FAILED
    data: dict[str, Json] = {
        "success": command.success,
        "code": command.code,
        "source_already_gone": command.source_already_gone,
    }
    draft.add(Fact(kind, data))
    if command.success:
        return draft.move(Trigger.CLEANUP_SUCCEEDED)
    return draft.move(Trigger.CLEANUP_FAILED, data={"reason": command.code or "cleanup_failed"})


def force_close(draft: Draft, command: ForceClose) -> Draft:
    """Ends every live state, an executing one too."""
    return draft.move(Trigger.PARENT_FORCE_CLOSE, data={"reason": command.reason})


def spawn_children(draft: Draft, command: SpawnChildren) -> Draft:
    """Zero children are refused; a running action may spawn only if it is decompose (section 0.2)."""
    thread = draft.thread
    if not command.child_thread_ids:
        raise Invalid("NO_CHILDREN", "at least one child is needed", field="children")
    if lookup(thread.state, Trigger.CHILDREN_SPAWNED) is None:
        raise InvalidTransition(thread.state, Trigger.CHILDREN_SPAWNED)
    decomposes = thread.proposal is not None and thread.proposal.name == DECOMPOSE
    if thread.state is State.EXECUTING and not decomposes:
        raise InvalidTransition(thread.state, Trigger.CHILDREN_SPAWNED)
    count = len(command.child_thread_ids)
    data: dict[str, Json] = {"child_thread_ids": list(command.child_thread_ids), "source_count": count}
    draft.add(Fact(Kind.SUBTHREADS_SPAWNED, data))
    return draft.move(Trigger.CHILDREN_SPAWNED)


def settle_children(draft: Draft, command: SettleChildren) -> Draft:
    """Ends a monitoring parent; nothing to end is nothing to write."""
    facts = BranchFacts(all_terminal=command.all_terminal, all_dismissed_singular=command.all_dismissed_singular)
    if draft.thread.state is not State.MONITORING:
        raise InvalidTransition(draft.thread.state, Trigger.EXECUTION_DONE)
    if resolve(Branch.DONE_WHEN_ALL_SUBTHREADS_TERMINAL, facts).state is State.MONITORING:
        return draft
    data: dict[str, Json] = {
        "all_terminal": command.all_terminal,
        "all_dismissed_singular": command.all_dismissed_singular,
    }
    return draft.move(Trigger.EXECUTION_DONE, facts=facts, data=data)


def _check_item(field: str, item: ContextItem) -> None:
    check_text(f"{field}.id", item.id, limits.ITEM_ID_MAX, shortest=1)
    check_text(f"{field}.source", item.source, limits.ITEM_SOURCE_MAX)
    check_text(f"{field}.type", item.type, limits.ITEM_SOURCE_MAX)
    check_text(f"{field}.label", item.label, limits.ITEM_LABEL_MAX)
    check_json(f"{field}.payload", item.payload)
