"""Resource names in and out; a malformed one is refused by its field."""

from __future__ import annotations

from services.kernel.errors import Invalid
from services.kernel.ids import is_id


def session_id(name: str, field: str = "name") -> str:
    """The id in `sessions/{id}`."""
    return _id(name, "sessions", "ses", field)


def thread_id(name: str, field: str = "name") -> str:
    """The id in `threads/{id}`."""
    return _id(name, "threads", "thr", field)


def _id(name: str, collection: str, prefix: str, field: str) -> str:
    head, _, tail = name.partition("/")
    if head != collection or not is_id(prefix, tail):
        raise Invalid("INVALID_NAME", f"{field} must be {collection}/{{id}}", field=field)
    return tail
