"""The actions that a person can pick for a thread, and what is bound for them (design/threads.md, sections 3.6, 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from services.threads.domain.autonomy import PROPOSED
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.proposal import as_object
from services.threads.domain.reading import text
from services.threads.domain.registration import Registration
from services.threads.domain.thread import Thread

THREAD_ID: Final = "thread_id"
TAB_IDS: Final = "tab_ids"
BOUND: Final = frozenset({THREAD_ID, TAB_IDS})
"""Parameters that the service fills in from the thread; nobody is asked for them."""
PICKED_IN: Final = frozenset({"user_invocation", "agent_conversation"})
"""Where an action must be available to be picked by a caller."""

PROPOSED_IN: Final = frozenset({"agent_conversation", PROPOSED})
"""Where one of them an action must be available, so that an agent may propose it in a session."""


@dataclass(frozen=True)
class Parameter:
    """One parameter as a form asks for it."""

    name: str
    type: str
    description: str
    required: bool


@dataclass(frozen=True)
class Option:
    """An action as a menu shows it."""

    registration: Registration
    label: str
    defaults: JsonObject
    parameters: tuple[Parameter, ...]


def options(registrations: Iterable[Registration]) -> list[Option]:
    """Those that can be picked: universal ones first, then by category and name."""
    shown = [one for one in registrations if one.available_in & PICKED_IN]
    return [_option(one) for one in sorted(shown, key=lambda one: (not one.universal, one.category, one.name))]


def proposable(registration: Registration) -> bool:
    """Whether an agent may propose it in a session."""
    return bool(registration.available_in & PROPOSED_IN)


def bound(registration: Registration, parameters: JsonObject, thread: Thread) -> JsonObject:
    """The parameters with those of BOUND that the schema knows: `thread_id` is always the thread's own, `tab_ids` come
    from its items unless they were given. `thread` comes with its items.
    """
    known = as_object(registration.schema.get("properties"))
    filled: dict[str, Json] = dict(parameters)
    if THREAD_ID in known:
        filled[THREAD_ID] = thread.thread_id
    if TAB_IDS in known and TAB_IDS not in filled:
        filled[TAB_IDS] = _tabs(thread)
    return filled


def binds(registration: Registration) -> bool:
    """Whether `bound` has anything to do."""
    return not BOUND.isdisjoint(as_object(registration.schema.get("properties")))


def _tabs(thread: Thread) -> list[Json]:
    tabs = (as_object(item.payload).get("tab_id") for item in thread.context_items)
    return [tab for tab in tabs if isinstance(tab, int) and not isinstance(tab, bool)]


def _option(registration: Registration) -> Option:
    required = registration.schema.get("required")
    needed = {str(name) for name in required} if isinstance(required, Sequence) else set()
    asked = {
        name: as_object(schema)
        for name, schema in as_object(registration.schema.get("properties")).items()
        if name not in BOUND
    }
    return Option(
        registration=registration,
        label=registration.name.replace("_", " ").capitalize(),
        defaults={name: schema["default"] for name, schema in asked.items() if "default" in schema},
        parameters=tuple(
            Parameter(name, _type(schema), text(schema, "description"), name in needed)
            for name, schema in asked.items()
        ),
    )


def _type(schema: JsonObject) -> str:
    """One word for a form; a choice of texts is a string."""
    said = schema.get("type")
    if isinstance(said, str):
        return said
    if isinstance(said, Sequence) and said:
        return next((str(one) for one in said if one != "null"), "null")
    return "string" if isinstance(schema.get("enum"), Sequence) else "any"
