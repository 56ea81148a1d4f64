"""What a feed tells of a domain fact: thin, allow-listed, and to whom (design/streaming.md S.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from services.kernel import frames

_THREAD_TEXTS: Final = ("event_id", "thread_id", "root_id", "kind", "from", "to", "trigger", "actor", "time")
_SESSION_TEXTS: Final = (
    "event_id",
    "session_id",
    "kind",
    "from",
    "to",
    "turn_id",
    "outcome",
    "actor",
    "time",
)
_TEXT_MOST: Final = 300


@dataclass(frozen=True, slots=True)
class Told:
    """One fact as a feed tells it. `threads` are the ids whose feeds it belongs to: the thread and its ancestors."""

    event: str
    event_id: str
    line: bytes
    threads: frozenset[str]


def told(type_: str, payload: Mapping[str, Any]) -> Told | None:
    """The fact for the feeds; None for a type that no feed tells of. Every field is picked by name (I8)."""
    if type_ == "session":
        changed = {name: _text(payload.get(name)) for name in _SESSION_TEXTS}
        return Told("session", changed["event_id"], frames.line_of_json(changed), frozenset())
    if type_ != "thread":
        return None
    body: dict[str, Any] = {name: _text(payload.get(name)) for name in _THREAD_TEXTS}
    seq = payload.get("seq")
    body["seq"] = seq if isinstance(seq, int) else 0
    path = payload.get("path")
    ancestors = [one for one in path if isinstance(one, str)] if isinstance(path, list) else []
    threads = frozenset({body["thread_id"], body["root_id"], *ancestors} - {""})
    return Told("thread", body["event_id"], frames.line_of_json(body), threads)


def _text(value: object) -> str:
    return value[:_TEXT_MOST] if isinstance(value, str) else ""
