"""Which source a thread can be cleaned up from: from its items alone (design/threads.md, section 3.10)."""

from __future__ import annotations

from typing import Final

from services.threads.domain.canonical import JsonObject
from services.threads.domain.errors import NoCleanup
from services.threads.domain.proposal import as_object
from services.threads.domain.reading import text
from services.threads.domain.thread import ContextItem, Thread

FILE_SOURCES: Final = frozenset({"journal_note", "journal_segment", "file"})
"""Items of these sources name a line of a file: payload `note_path` (or `file_path`) and `line_text`."""
TASK_SOURCE: Final = "task"
"""Items of this source name a line of tasks.md: payload `line_text`."""


def cleanup_of(thread: Thread) -> JsonObject | None:
    """The adapter and its parameters for the first item that one knows; None when there is none."""
    found = (_of(item) for item in thread.context_items)
    return next((one for one in found if one is not None), None)


def required_cleanup(thread: Thread) -> JsonObject:
    """As `cleanup_of`; NoCleanup when no adapter knows the source."""
    found = cleanup_of(thread)
    if found is None:
        raise NoCleanup(thread.state)
    return found


def _of(item: ContextItem) -> JsonObject | None:
    payload = as_object(item.payload)
    line = text(payload, "line_text")
    path = text(payload, "note_path") or text(payload, "file_path")
    if not line.strip():
        return None
    if item.source == TASK_SOURCE:
        return {"adapter": "task", "parameters": {"line_text": line}}
    if item.source in FILE_SOURCES and path:
        return {"adapter": "file_line", "parameters": {"path": path, "line_text": line}}
    return None
