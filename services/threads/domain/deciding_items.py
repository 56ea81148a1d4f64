"""Items that change their column, and columns that are deleted (design/threads.md, sections 0.11, 4.6, 4.7)."""

from __future__ import annotations

from services.kernel.errors import Invalid, NotAllowed, NotFound, TooLarge
from services.threads.domain import limits
from services.threads.domain.canonical import Json, canonical_json
from services.threads.domain.commands import DeleteColumn, GiveItems, TakeItems
from services.threads.domain.created import item_json
from services.threads.domain.drafting import Draft
from services.threads.domain.errors import AlreadyTerminal, InvalidTransition
from services.threads.domain.events import Fact
from services.threads.domain.items import moved_in, moved_out
from services.threads.domain.kinds import Kind
from services.threads.domain.states import TERMINAL, State
from services.threads.domain.thread import ContextItem, Thread


class SameThread(Invalid):
    """An item is not moved to where it is."""

    def __init__(self) -> None:
        super().__init__("SAME_THREAD", "source and destination are the same thread", field="dest_thread_id")


class NoUmbrella(NotAllowed):
    """The thread is no column: it has no umbrella parent."""

    def __init__(self, thread_id: str) -> None:
        super().__init__("NO_UMBRELLA", "the thread has no umbrella parent", thread_id=thread_id)


class CrossUmbrella(NotAllowed):
    """The two are no siblings of one run."""

    def __init__(self) -> None:
        super().__init__("CROSS_UMBRELLA", "a cross-umbrella move: the threads are not siblings of one group")


class ItemNotPresent(NotFound):
    """Not owned by the source, or not any more."""

    def __init__(self, item_id: str) -> None:
        super().__init__("ITEM_NOT_PRESENT", "the item is not present on the source", item_id=item_id)


class ItemAlreadyThere(NotAllowed):
    """The destination has an item of this id."""

    def __init__(self, item_id: str) -> None:
        super().__init__("ITEM_ALREADY_THERE", "the destination has an item of this id", item_id=item_id)


def picked(source: Thread, ids: tuple[str, ...]) -> tuple[ContextItem, ...]:
    """The items of these ids, in this order. ItemNotPresent for the first that is not there."""
    own = {item.id: item for item in source.context_items}
    for item_id in ids:
        if item_id not in own:
            raise ItemNotPresent(item_id)
    return tuple(own[item_id] for item_id in ids)


def give(draft: Draft, command: GiveItems) -> Draft:
    """An event for each item that leaves; state and proposal stay."""
    _refuse_closed(draft.thread)
    thread_id = draft.thread.thread_id
    facts = [
        moved_out(command.migration_id, item, thread_id, command.to, command.umbrella_id) for item in command.items
    ]
    return draft.add(*facts)


def take(draft: Draft, command: TakeItems) -> Draft:
    """An event for each item that arrives, behind what is there."""
    thread = draft.thread
    _refuse_closed(thread)
    check_room(thread, command.items)
    facts = [
        moved_in(command.migration_id, item, command.source, thread.thread_id, command.umbrella_id)
        for item in command.items
    ]
    return draft.add(*facts)


def check_room(thread: Thread, items: tuple[ContextItem, ...]) -> None:
    """Refuse what has the id of an item that is there, and more than a card can show (PUB23)."""
    there = {item.id for item in thread.context_items}
    for item in items:
        if item.id in there:
            raise ItemAlreadyThere(item.id)
    after = [*thread.context_items, *items]
    if len(after) > limits.CONTEXT_ITEMS_MAX:
        most = limits.CONTEXT_ITEMS_MAX
        raise Invalid("INVALID_ITEMS", f"the destination would have more than {most}", field="item_ids", limit=most)
    if len(canonical_json([item_json(item) for item in after])) > limits.CONTEXT_BYTES_MAX:
        most = limits.CONTEXT_BYTES_MAX
        raise TooLarge("VALUE_TOO_LARGE", f"its items would be larger than {most} bytes", field="item_ids", limit=most)


def delete_column(draft: Draft, command: DeleteColumn) -> Draft:
    """For the umbrella's log: which column went, and what it keeps."""
    if draft.thread.state in TERMINAL:
        raise AlreadyTerminal(draft.thread.state)
    data: dict[str, Json] = {
        "deleted_child_id": command.child_id,
        "had_items": len(command.item_ids),
        "item_ids": list(command.item_ids),
    }
    return draft.add(Fact(Kind.GROUP_DELETED, data))


def _refuse_closed(thread: Thread) -> None:
    if thread.state in TERMINAL:
        raise AlreadyTerminal(thread.state)
    if thread.state is State.EXECUTING:
        raise InvalidTransition(thread.state, "move_item")
