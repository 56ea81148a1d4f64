"""The registration of an action: what it takes, how risky it is, where it is offered (design/threads.md,
section 0.10).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from services.kernel.errors import Invalid
from services.threads.domain.autonomy import AUTONOMOUS, INVOCATION_CONTEXTS, LEVELS
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.checks import check_object, check_text
from services.threads.domain.proposal import RegisteredAction

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_CATEGORY: Final = re.compile(r"[a-z0-9_-]{1,32}")
DESCRIPTION_MAX: Final = 1_000
ACTIONS_MAX: Final = 1_000
"""Registered actions of one tenant."""


class Cardinality(StrEnum):
    """How often an action applies."""

    PER_ITEM = "per_item"
    PER_GROUP = "per_group"
    UMBRELLA = "umbrella"


@dataclass(frozen=True)
class Registration:
    """An action of the catalogue. `schema` is JSON Schema (2020-12) of an object."""

    name: str
    description: str = ""
    category: str = "general"
    schema: JsonObject = field(default_factory=lambda: {"type": "object"})
    cardinality: Cardinality = Cardinality.PER_GROUP
    irreversibility: str = "high"
    regret_potential: str = "high"
    risk_amplifier: bool = False
    requires_post_review: bool = False
    idempotent: bool = False
    available_in: frozenset[str] = INVOCATION_CONTEXTS
    built_in: bool = False
    universal: bool = False

    @property
    def action(self) -> RegisteredAction:
        """As proposals see it."""
        return RegisteredAction(
            name=self.name,
            irreversibility=self.irreversibility,
            regret_potential=self.regret_potential,
            risk_amplifier=self.risk_amplifier,
            requires_post_review=self.requires_post_review,
            idempotent=self.idempotent,
            autonomous=AUTONOMOUS in self.available_in,
        )


def checked(registration: Registration) -> Registration:
    """The registration, or Invalid naming the field."""
    if _NAME.fullmatch(registration.name) is None:
        raise _invalid("capability_name", "must match [a-z][a-z0-9_]{0,63}")
    if _CATEGORY.fullmatch(registration.category) is None:
        raise _invalid("category", "must match [a-z0-9_-]{1,32}")
    check_text("action.description", registration.description, DESCRIPTION_MAX)
    check_object("action.parameters_schema", registration.schema)
    for level in ("irreversibility", "regret_potential"):
        if getattr(registration, level) not in LEVELS:
            raise _invalid(level, "is low, medium or high")
    if unknown := registration.available_in - INVOCATION_CONTEXTS:
        raise _invalid("available_in", f"has no value {min(unknown)!r}")
    return registration


def registration_json(registration: Registration) -> JsonObject:
    """As stored; built-in ones are code and never stored."""
    return {
        "name": registration.name,
        "description": registration.description,
        "category": registration.category,
        "schema": registration.schema,
        "cardinality": registration.cardinality,
        "irreversibility": registration.irreversibility,
        "regret_potential": registration.regret_potential,
        "risk_amplifier": registration.risk_amplifier,
        "requires_post_review": registration.requires_post_review,
        "idempotent": registration.idempotent,
        "available_in": sorted(registration.available_in),
    }


def registration_from(data: dict[str, Json]) -> Registration:
    """Out of `registration_json`."""
    fields: dict[str, object] = dict(data)
    fields["cardinality"] = Cardinality(str(data["cardinality"]))
    fields["available_in"] = frozenset(str(name) for name in _strings(data["available_in"]))
    return Registration(**fields)  # type: ignore[arg-type]


def _strings(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else []


def _invalid(name: str, says: str) -> Invalid:
    return Invalid("INVALID_REGISTRATION", f"action.{name} {says}", field=f"action.{name}")
