"""A workspace as plain JSON (C3): what a turn keeps and a branch begins with. No row ids; written densely, read
tolerantly, because what was written once is read for ever."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from services.kernel.ids import NewId
from services.kernel.text import storable
from services.planning.domain.step import Step, Steps


@dataclass(frozen=True, slots=True)
class KeptStep:
    """A step without its row id."""

    origin_id: str
    depth: int
    text: str
    done: bool


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """A document."""

    key: str
    content: str
    locked: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Objective (empty: none), plan and documents, in order."""

    objective: str = ""
    steps: tuple[KeptStep, ...] = ()
    documents: tuple[KeptDocument, ...] = ()


def capture(objective: str, steps: Steps, documents: Iterable[KeptDocument]) -> Snapshot:
    """What is kept of a live workspace."""
    kept = tuple(KeptStep(one.origin_id, one.depth, one.text, one.done) for one in steps)
    return Snapshot(objective, kept, tuple(documents))


def materialise(snapshot: Snapshot, new_id: NewId) -> Steps:
    """The plan as live rows: fresh ids, the same lineage. capture(materialise(s)) is s."""
    return tuple(Step(new_id("stp"), one.origin_id, one.depth, one.text, one.done) for one in snapshot.steps)


def todos_json(steps: Steps) -> bytes:
    """The plan as it is kept; the same plan gives the same bytes."""
    rows = [
        {"text": one.text, "done": one.done, "position": at, "depth": one.depth, "origin_id": one.origin_id}
        for at, one in enumerate(steps)
    ]
    return orjson.dumps(rows)


def read_todos(data: bytes | None, new_id: NewId) -> tuple[KeptStep, ...]:
    """Tolerant: rows without a text are left out; depth that is no number of 0 or more is 0; done only if exactly
    true; a missing position is the row's place. Where lineage is missing or doubled, it begins here."""
    seen: set[str] = set()
    found = []
    for row in _in_order(data):
        if isinstance(text := row.get("text"), str):
            depth, origin = row.get("depth"), row.get("origin_id")
            if not isinstance(origin, str) or not origin or origin in seen:
                origin = new_id("stp")
            seen.add(origin)
            found.append(KeptStep(origin, _whole(depth) or 0, storable(text), row.get("done") is True))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Shelved:
    """A document as a list of documents keeps it: by the digest of its content, or, as of old, with the content."""

    key: str
    sha256: str
    locked: bool
    content: str | None = None


def documents_json(documents: Iterable[Shelved]) -> bytes:
    """The list of documents as it is kept; contents are kept apart, each once."""
    rows = [
        {"key": one.key, "sha256": one.sha256, "locked": one.locked, "position": at} for at, one in enumerate(documents)
    ]
    return orjson.dumps(rows)


def read_documents(data: bytes | None) -> tuple[Shelved, ...]:
    """Tolerant as read_todos; locked only if exactly true; `title` serves as key, `content` as the content itself."""
    found: dict[str, Shelved] = {}
    for row in _in_order(data):
        key = row.get("key", row.get("title"))
        digest, content = row.get("sha256"), row.get("content")
        if not isinstance(key, str) or key in found:
            continue
        if isinstance(digest, str):
            found[key] = Shelved(key, digest, row.get("locked") is True)
        elif isinstance(content, str):
            content = storable(content)
            found[key] = Shelved(key, sha256(content.encode()), row.get("locked") is True, content)
    return tuple(found.values())


def sha256(data: bytes) -> str:
    """Lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def _in_order(data: bytes | None) -> list[Mapping[str, Any]]:
    try:
        rows = orjson.loads(data) if data else None
    except orjson.JSONDecodeError:
        rows = json.loads(data or b"")  # takes the halves of characters that older writers let pass
    if not isinstance(rows, list):
        return []
    placed = [
        (at if (position := _whole(row.get("position"))) is None else position, at, row)
        for at, row in enumerate(rows)
        if isinstance(row, dict)
    ]
    return [row for _, _, row in sorted(placed, key=lambda one: one[:2])]


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
