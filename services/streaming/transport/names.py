"""Resource names in and out; a malformed one is refused by its field."""

from __future__ import annotations

from services.kernel.errors import Invalid
from services.kernel.ids import is_id


def session_id(name: str, field: str = "name") -> str:
    """The id in `sessions/{id}`."""
    return _id(name, "sessions", "ses", field)


def gate_id(name: str) -> tuple[str, str]:
    """(session, gate) in `sessions/{id}/gates/{id}`."""
    head, _, gate = name.partition("/gates/")
    if not is_id("gat", gate):
        raise Invalid("INVALID_NAME", "name must be sessions/{id}/gates/{id}", field="name")
    return session_id(head), gate


def turn_id(text: str) -> str:
    """A turn's id, or nothing."""
    if text and not is_id("trn", text):
        raise Invalid("INVALID_ARGUMENT", "turn_id must be a turn's id", field="turn_id")
    return text


def thread_id(name: str, field: str = "name") -> str:
    """The id in `threads/{id}`."""
    return _id(name, "threads", "thr", field)


def _id(name: str, collection: str, prefix: str, field: str) -> str:
    head, _, tail = name.partition("/")
    if head != collection or not is_id(prefix, tail):
        raise Invalid("INVALID_NAME", f"{field} must be {collection}/{{id}}", field=field)
    return tail
