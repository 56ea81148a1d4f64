"""What a feed tells of a domain fact: thin, allow-listed, and to whom (design/streaming.md S.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from services.kernel import frames

_TEXTS: Final = {
    "thread": ("event_id", "thread_id", "root_id", "kind", "from", "to", "trigger", "actor", "time"),
    "session": ("event_id", "session_id", "kind", "from", "to", "turn_id", "outcome", "actor", "time"),
    "worker": (
        *("event_id", "kind", "coordinator_session_id", "worker_id", "name", "worker_session_id", "from", "to"),
        *("reason", "turn_id", "actor", "time"),
    ),
    "plan": ("event_id", "kind", "session_id", "document", "branch_session_id", "state", "actor", "time"),
}
_NUMBERS: Final = {"thread": ("seq",), "plan": ("version", "turn")}
_FLAGS: Final = {"worker": ("has_result", "partial", "late")}
_TEXT_MOST: Final = 300


@dataclass(frozen=True, slots=True)
class Told:
    """One fact as a feed tells it. `feeds` are the ids whose feeds it belongs to, beside the tenant's: a thread and
    its ancestors, or a coordinator's session."""

    event: str
    event_id: str
    line: bytes
    feeds: frozenset[str]


def told(type_: str, payload: Mapping[str, Any]) -> Told | None:
    """The fact for the feeds; None for a type that no feed tells of. Every field is picked by name (I8)."""
    if type_ not in _TEXTS:
        return None
    body: dict[str, Any] = {name: _text(payload.get(name)) for name in _TEXTS[type_]}
    body |= {name: _number(payload.get(name)) for name in _NUMBERS.get(type_, ())}
    body |= {name: payload.get(name) is True for name in _FLAGS.get(type_, ())}
    return Told(type_, body["event_id"], frames.line_of_json(body), _feeds(type_, body, payload))


def _feeds(type_: str, body: dict[str, Any], payload: Mapping[str, Any]) -> frozenset[str]:
    match type_:
        case "thread":
            path = payload.get("path")
            ancestors = [one for one in path if isinstance(one, str)] if isinstance(path, list) else []
            return frozenset({body["thread_id"], body["root_id"], *ancestors} - {""})
        case "worker":
            return frozenset({body["coordinator_session_id"]} - {""})
        case _:
            return frozenset()


def _text(value: object) -> str:
    return value[:_TEXT_MOST] if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
