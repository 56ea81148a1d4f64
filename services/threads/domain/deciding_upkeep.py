"""Everything around the work: creation, postponing, renaming, timers, cleanup, force close."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from services.kernel.errors import Invalid
from services.threads.domain import limits
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.checks import check_json, check_line, check_object, check_text
from services.threads.domain.commands import (
    CreateThread,
    FinishCleanup,
    ForceClose,
    Later,
    Rename,
    Spawn,
)
from services.threads.domain.created import item_json
from services.threads.domain.drafting import Draft
from services.threads.domain.errors import AlreadyTerminal, InvalidTransition
from services.threads.domain.events import Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import chosen_content
from services.threads.domain.proposing import proposed
from services.threads.domain.states import CLARIFICATION, TERMINAL, State
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
    if command.spawn is not None:
        checked_spawn(command.spawn)
    return replace(command, title=title)


_SPAWNED_IN = frozenset({State.AWAITING_CONFIRMATION, *CLARIFICATION.values(), State.DISMISSED})


def checked_spawn(spawn: Spawn) -> Spawn:
    """Refuse a start that no thread may have: an action belongs to the gate, a question to a clarification."""
    if spawn.state not in _SPAWNED_IN:
        raise Invalid("INVALID_FIELD", f"nothing is spawned in {spawn.state}", field="state", state=spawn.state)
    check_text("question", spawn.question, limits.FEEDBACK_MAX)
    if (spawn.action is not None) != (spawn.state is State.AWAITING_CONFIRMATION):
        raise Invalid("INVALID_FIELD", "an action and awaiting_confirmation belong together", field="action")
    if bool(spawn.question.strip()) and spawn.state not in CLARIFICATION.values():
        raise Invalid("INVALID_FIELD", "a question belongs to a clarification", field="question")
    if spawn.state in CLARIFICATION.values() and not spawn.question.strip():
        raise Invalid("INVALID_FIELD", "a clarification needs a question", field="question")
    return spawn


def begin_elsewhere(draft: Draft, spawn: Spawn) -> Draft:
    """What stands at the start besides `thread_created`: the proposal at the gate, or why it ended at once."""
    if spawn.action is not None:
        content = chosen_content(spawn.action)
        check_object("parameters", content)
        extra: JsonObject = {"synthetic": True}
        _, fact = proposed(draft.thread, draft.stamp.proposal_id, content, confidence=None, by_user=False, extra=extra)
        draft.add(fact)
    elif spawn.state is State.DISMISSED:
        draft.add(Fact(Kind.THREAD_DISMISSED, {"reason": spawn.reason}))
    return draft


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
    check_text("reason", command.reason, limits.FEEDBACK_MAX)
    if command.cascaded is not None:
        listed = list(command.cascaded[: limits.CHILDREN_MAX])
        draft.add(Fact(Kind.PARENT_FORCE_CLOSE, {"cascaded": listed, "cascaded_count": len(command.cascaded)}))
    return draft.move(Trigger.PARENT_FORCE_CLOSE, data={"reason": command.reason})


def _check_item(field: str, item: ContextItem) -> None:
    check_text(f"{field}.id", item.id, limits.ITEM_ID_MAX, shortest=1)
    check_text(f"{field}.source", item.source, limits.ITEM_SOURCE_MAX)
    check_text(f"{field}.type", item.type, limits.ITEM_SOURCE_MAX)
    check_text(f"{field}.label", item.label, limits.ITEM_LABEL_MAX)
    check_json(f"{field}.payload", item.payload)
