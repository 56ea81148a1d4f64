"""The event thread_created, both ways: what it records of a command, and the thread it begins."""

from __future__ import annotations

from collections.abc import Mapping

from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.commands import CreateThread, Spawn
from services.threads.domain.events import Event, Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.policy_json import policy_from, policy_json
from services.threads.domain.proposal import as_object
from services.threads.domain.reading import maybe_text, text, whole
from services.threads.domain.states import State
from services.threads.domain.thread import ContextItem, Relationship, Thread


def creation(command: CreateThread) -> Fact:
    """Everything a thread starts with; `spawned_at` makes a shortcut spawn replayable (section 0.2)."""
    return Fact(
        Kind.THREAD_CREATED,
        {
            "thread_id": command.thread_id,
            "title": command.title,
            "description": command.description,
            "context_items": [item_json(item) for item in command.context_items],
            "autonomy": policy_json(command.autonomy),
            "source_pipeline": command.source,
            "urgency": command.urgency,
            "parent_id": command.parent_id,
            "path": list(command.path),
            "ordinal": command.ordinal,
            "parent_relationship": command.parent_relationship,
            "originating_scrape_id": command.originating_scrape_id,
            "spawned_at": _spawned_at(command.spawn),
            **_proposed_in(command),
        },
    )


def _proposed_in(command: CreateThread) -> JsonObject:
    """Only where it is so: most threads are made by people."""
    return {name: value for name in ("session_id", "turn_id") if (value := getattr(command, name))}


def _spawned_at(spawn: Spawn | None) -> JsonObject:
    if spawn is None:
        return {"state": State.PROPOSED, "reason": "created"}
    told: dict[str, Json] = {"state": spawn.state, "reason": spawn.reason}
    if spawn.question:
        told["question"] = spawn.question
    return told


def created(event: Event) -> Thread:
    """The thread as it begins."""
    data = event.data
    spawned = as_object(data.get("spawned_at"))
    return Thread(
        thread_id=text(data, "thread_id"),
        title=text(data, "title"),
        description=text(data, "description"),
        autonomy=policy_from(data.get("autonomy")),
        state=State(text(spawned, "state") or State.PROPOSED),
        seq=event.seq,
        create_time=event.time,
        update_time=event.time,
        since=event.time,
        context_items=tuple(item_from(item) for item in _list(data.get("context_items"))),
        source=text(data, "source_pipeline"),
        urgency=text(data, "urgency") or "surface_now",
        last_event_id=event.id,
        parent_id=maybe_text(data, "parent_id"),
        path=tuple(str(ancestor) for ancestor in _list(data.get("path"))),
        ordinal=whole(data, "ordinal"),
        parent_relationship=Relationship(text(data, "parent_relationship") or Relationship.DECOMPOSE),
        originating_scrape_id=maybe_text(data, "originating_scrape_id"),
        question=text(spawned, "question"),
        reason="" if text(spawned, "reason") == "created" else text(spawned, "reason"),
        session_id=text(data, "session_id"),
        turn_id=text(data, "turn_id"),
    )


def item_json(item: ContextItem) -> JsonObject:
    """A context item as JSON."""
    return {
        "id": item.id,
        "source": item.source,
        "type": item.type,
        "label": item.label,
        "payload": item.payload,
    }


def item_from(value: Json) -> ContextItem:
    """A context item out of JSON that `item_json` made."""
    data = value if isinstance(value, Mapping) else {}
    return ContextItem(
        text(data, "id"),
        text(data, "source"),
        text(data, "type"),
        text(data, "label"),
        data.get("payload"),
    )


def _list(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else []
