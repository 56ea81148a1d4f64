"""The two kinds of work, as the runner sees them. Where they come from is the adapter's business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]
"""A JSON object: what it holds is the business of the action that reads it."""


class Target(StrEnum):
    """What is guessed, in this order (design/threads.md §3.8)."""

    INTENT = "intent"
    CONTEXT = "context"
    ACTION = "action"


@dataclass(frozen=True, slots=True)
class Matter:
    """The thread that the work is about."""

    id: str
    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A context item; `text` is every string of its payload, one a line."""

    id: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """One redirect: what a person wrote, the parameters to keep, and the action to propose instead."""

    text: str
    params: Json = field(default_factory=dict)
    target_action: str | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """An action that may be proposed."""

    name: str
    description: str
    parameters: Json


@dataclass(frozen=True, slots=True)
class PriorProposal:
    """What was proposed before and sent back."""

    name: str
    parameters: Json


@dataclass(frozen=True, slots=True)
class InferenceTask:
    """Guess one target. `feedback` and `clarifications` are oldest first and unresolved (design/threads.md §0.8)."""

    target: Target
    matter: Matter
    items: tuple[Item, ...] = ()
    intent: str = ""
    context: str = ""
    feedback: tuple[Feedback, ...] = ()
    clarifications: tuple[str, ...] = ()
    prior: PriorProposal | None = None
    offers: tuple[Offer, ...] = ()
    attempt: int = 1
    combined: bool = False
    """All three targets are wanted in one answer."""


@dataclass(frozen=True, slots=True)
class ExecutionTask:
    """Do what was approved, byte for byte."""

    matter: Matter
    proposal_id: str
    name: str
    parameters: Json
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class CleanupTask:
    """Take a thread's source away: `adapter` knows how, `parameters` are its own."""

    matter: Matter
    adapter: str
    parameters: Json


@dataclass(frozen=True, slots=True)
class Guess:
    """A provider's answer. An empty payload means that the provider has nothing (design/threads.md §0.8)."""

    payload: Json
    confidence: float
    model: str
    tier: str
    cost_usd: float = 0.0
