"""A proposed action: its content, its identity and its digest (design/threads.md, sections 0.3, 0.8, 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

from services.threads.domain.canonical import Json, JsonObject, digest


class ActionKind(StrEnum):
    """`clarification` is a question, not an action: it never stands as a proposal."""

    STANDARD = "standard"
    IMPROVISED = "improvised"
    SUGGESTION = "suggestion"
    CLARIFICATION = "clarification"


UNIVERSAL: Final = frozenset({"thread_dismiss", "thread_defer", "thread_rename"})
"""Actions that threads runs itself at approval, without executing (section 0.10)."""
DECOMPOSE: Final = "decompose"


@dataclass(frozen=True)
class RegisteredAction:
    """What an action's registration says; risk and rules come from here, never from the model."""

    name: str
    irreversibility: str = "high"
    regret_potential: str = "high"
    risk_amplifier: bool = False
    requires_post_review: bool = False
    idempotent: bool = False
    autonomous: bool = True
    """Whether it may ever run without a person (available in agent_autonomous)."""


@dataclass(frozen=True)
class ActionChoice:
    """An action as a person gives it, with the registration it was looked up in."""

    action: RegisteredAction
    parameters: JsonObject = field(default_factory=dict)
    rationale: str = ""


@dataclass(frozen=True)
class ActionDraft:
    """An action as inference answers it. `action` is the registration of `name`, None if there is none."""

    kind: str = ""
    name: str = ""
    parameters: JsonObject = field(default_factory=dict)
    plan_summary: str = ""
    text: str = ""
    rationale: str = ""
    blocked_on: str = ""
    required_contexts: tuple[str, ...] = ()
    intrinsic_amplifiers: JsonObject = field(default_factory=dict)
    irreversibility: str = ""
    regret_potential: str = ""
    risk_amplifier: bool = False
    estimated_cost_usd: float | None = None
    action: RegisteredAction | None = None

    @property
    def is_clarification(self) -> bool:
        """A question to the person."""
        return self.kind == ActionKind.CLARIFICATION and bool((self.blocked_on or self.text).strip())

    @property
    def is_empty(self) -> bool:
        """Nothing that a person could approve, and no question either (section 0.8)."""
        if self.kind == ActionKind.CLARIFICATION:
            return not self.is_clarification
        if self.kind == ActionKind.STANDARD:
            return not self.name.strip()
        if self.kind in (ActionKind.IMPROVISED, ActionKind.SUGGESTION):
            return not (self.plan_summary.strip() or self.text.strip())
        return True


@dataclass(frozen=True)
class Proposal:
    """A standing action. Its `content` is what is shown, approved and executed, byte for byte."""

    proposal_id: str
    revision: int
    kind: ActionKind
    name: str
    content: JsonObject
    requires_post_review: bool
    idempotent: bool
    confidence: float | None = None
    model_used: str = ""
    tier_used: str = ""
    by_user: bool = False
    event_id: str = ""

    @property
    def action_id(self) -> str:
        """The id of the action on a card: globally unique (section 4.10)."""
        return f"act-{self.event_id}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of the identity and the content."""
        return digest({**self.content, "proposal_id": self.proposal_id, "revision": self.revision})

    @property
    def parameters(self) -> JsonObject:
        """The parameters that would be executed."""
        return as_object(self.content.get("parameters"))

    @property
    def is_universal(self) -> bool:
        """Runs inside threads at approval."""
        return self.kind is ActionKind.STANDARD and self.name in UNIVERSAL

    @property
    def is_executable(self) -> bool:
        """A registered action that a runner can execute."""
        return self.kind is ActionKind.STANDARD and self.name not in UNIVERSAL


def inferred_content(draft: ActionDraft) -> JsonObject:
    """The content of an inferred proposal: a registered action's risk replaces what the model says of it."""
    registered = draft.action
    return {
        "kind": draft.kind,
        "name": draft.name,
        "parameters": draft.parameters,
        "plan_summary": draft.plan_summary,
        "text": draft.text,
        "rationale": draft.rationale,
        "blocked_on": draft.blocked_on,
        "required_contexts": list(draft.required_contexts),
        "intrinsic_amplifiers": draft.intrinsic_amplifiers,
        "irreversibility": registered.irreversibility if registered else draft.irreversibility,
        "regret_potential": registered.regret_potential if registered else draft.regret_potential,
        "risk_amplifier": (registered.risk_amplifier if registered else False) or draft.risk_amplifier,
        "estimated_cost_usd": draft.estimated_cost_usd,
        "requires_post_review": registered.requires_post_review if registered else False,
        "idempotent": registered.idempotent if registered else False,
        "autonomous": registered.autonomous if registered else False,
    }


def chosen_content(choice: ActionChoice) -> JsonObject:
    """The content of a fresh standard proposal as a person chose it."""
    draft = ActionDraft(
        kind=ActionKind.STANDARD,
        name=choice.action.name,
        parameters=choice.parameters,
        rationale=choice.rationale,
        action=choice.action,
    )
    return inferred_content(draft)


def folded_content(standing: Proposal | None, choice: ActionChoice | None, overrides: JsonObject | None) -> JsonObject:
    """What a decision with edits would decide on: choice first, then single parameters on top (section 6).

    The same action keeps its risk and gets the new parameters, and loses a summary that spoke of the old
    ones;
    another action is a fresh proposal.
    """
    content: dict[str, Json] = dict(standing.content) if standing else {}
    if choice is not None:
        if standing is not None and standing.kind is ActionKind.STANDARD and standing.name == choice.action.name:
            content["parameters"] = choice.parameters
            content["rationale"] = choice.rationale or content.get("rationale", "")
        else:
            content = dict(chosen_content(choice))
    if overrides:
        content["parameters"] = {**as_object(content.get("parameters")), **overrides}
    if standing is not None and content.get("parameters") != standing.parameters:
        content["plan_summary"] = ""
    return content


def as_object(value: Json) -> JsonObject:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}
