"""Items that change their owner, as events tell it (design/threads.md, section 0.11)."""

from __future__ import annotations

from services.threads.domain.canonical import JsonObject
from services.threads.domain.created import item_from, item_json
from services.threads.domain.events import Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.reading import text
from services.threads.domain.thread import ContextItem


def moved_out(migration_id: str, item: ContextItem, source: str, to: str, umbrella: str) -> Fact:
    """For the log of the former owner."""
    return Fact(Kind.CONTEXT_ITEM_MOVED, {"direction": "out", **_about(migration_id, item, source, to, umbrella)})


def moved_in(migration_id: str, item: ContextItem, source: str, to: str, umbrella: str) -> Fact:
    """For the log of the new owner, with the item itself: the log alone makes the row."""
    about = _about(migration_id, item, source, to, umbrella)
    return Fact(Kind.CONTEXT_ITEM_MOVED, {"direction": "in", **about, "item": item_json(item)})


def with_moved(items: tuple[ContextItem, ...], data: JsonObject) -> tuple[ContextItem, ...]:
    """What an event context_item_moved makes of a thread's items: gone, or the last one."""
    if text(data, "direction") == "in":
        return (*items, item_from(data.get("item")))
    return tuple(item for item in items if item.id != text(data, "item_id"))


def _about(migration_id: str, item: ContextItem, source: str, to: str, umbrella: str) -> JsonObject:
    return {
        "item_id": item.id,
        "src_thread_id": source,
        "dest_thread_id": to,
        "umbrella_id": umbrella,
        "migration_id": migration_id,
    }
