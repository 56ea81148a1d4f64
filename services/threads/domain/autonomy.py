"""The autonomy policy: 12 axes, three saved compositions, composition of layers (design/threads.md,
section 3.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from services.threads.domain.states import State

Level: TypeAlias = Literal["low", "medium", "high"]
Tier: TypeAlias = Literal[
    "local_tool_calling",
    "local_fast",
    "frontier_fast",
    "frontier_balanced",
    "frontier_best",
    "agent_headless",
    "user",
]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
TIERS: Final[tuple[Tier, ...]] = get_args(Tier)
"""From cheap to dear."""
ACTION_KINDS: Final = frozenset({"standard", "improvised", "suggestion"})
INVOCATION_CONTEXTS: Final = frozenset({"action_proposal", "agent_autonomous", "agent_conversation", "user_invocation"})
AUTONOMOUS: Final = "agent_autonomous"
"""The context in which an action runs without a person."""
PROPOSED: Final = "action_proposal"
"""The context in which a model proposes an action."""
CONSENT_KINDS: Final = frozenset(
    {
        "intent_inferred",
        "intent_confirmed",
        "context_inferred",
        "context_confirmed",
        "action_inferred",
        "action_confirmed",
        "action_picked",
        "action_approved",
    }
)
"""Both spellings of each gate; an unknown kind is refused, so that none can fail to match (section
7.1-15).
"""


@dataclass(frozen=True)
class Policy:
    """All twelve axes with their defaults. An empty set means none, never all."""

    auto_advance_states: frozenset[State] = frozenset()
    consent_required_kinds: frozenset[str] = frozenset()
    inference_confidence_floor: float = 0.3
    irreversibility_threshold: Level = "medium"
    regret_potential_threshold: Level = "medium"
    pause_on_risk_amplifier: bool = True
    allowed_action_kinds: frozenset[str] = ACTION_KINDS
    allowed_invocation_contexts: frozenset[str] = frozenset({"action_proposal", "agent_autonomous"})
    inference_floor_tier: Tier = "frontier_fast"
    inference_ceiling_tier: Tier = "agent_headless"
    budget_usd: float = 0.50
    combined_inference: bool = False


_UP_TO_THE_GATE: Final = frozenset(
    {
        State.PROPOSED,
        State.AWAITING_INFERENCE,
        State.INFERRING_INTENT,
        State.INFERRING_CONTEXT,
        State.INFERRING_ACTION,
        State.AWAITING_INTENT_CONFIRMATION,
        State.AWAITING_CONTEXT_CONFIRMATION,
    }
)
PRESETS: Final[Mapping[str, Policy]] = {
    "end_to_end": Policy(
        auto_advance_states=_UP_TO_THE_GATE | {State.AWAITING_CONFIRMATION, State.EXECUTING},
        inference_confidence_floor=0.6,
    ),
    "plan_then_review": Policy(
        auto_advance_states=_UP_TO_THE_GATE,
        consent_required_kinds=frozenset({"action_approved"}),
        inference_confidence_floor=0.6,
    ),
    "hands_off": Policy(
        consent_required_kinds=frozenset({"intent_confirmed", "context_confirmed", "action_picked", "action_approved"}),
        inference_confidence_floor=0.6,
        budget_usd=0.20,
    ),
}
DEFAULT_PRESET: Final = "plan_then_review"


def compose(*layers: Policy | Mapping[str, object] | None) -> Policy:
    """Later layers win axis by axis: a policy replaces all twelve, a mapping of axis values some, None
    nothing.

    Mappings hold values of the axes' own types (`policy_json` makes them out of JSON). TypeError on any
    other layer.
    """
    policy = Policy()
    for layer in layers:
        if layer is None:
            continue
        if isinstance(layer, Policy):
            policy = layer
        elif isinstance(layer, Mapping):
            policy = replace(policy, **dict(layer))  # type: ignore[arg-type]
        else:
            raise TypeError(f"a policy layer cannot be a {type(layer).__name__}")
    return policy
