"""Typed reads of event data: absent and of another type both give the empty value."""

from __future__ import annotations

from services.threads.domain.canonical import JsonObject


def text(data: JsonObject, key: str) -> str:
    """The string at `key`, else an empty one."""
    value = data.get(key)
    return value if isinstance(value, str) else ""


def maybe_text(data: JsonObject, key: str) -> str | None:
    """The string at `key`, else None."""
    value = data.get(key)
    return value if isinstance(value, str) else None


def maybe_number(data: JsonObject, key: str) -> float | None:
    """The number at `key`, else None; booleans are no numbers."""
    value = data.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def whole(data: JsonObject, key: str) -> int:
    """The integer at `key`, else 0."""
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
