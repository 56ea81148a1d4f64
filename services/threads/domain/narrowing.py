"""The override-down check: a child may only be more conservative than its parent (design/threads.md,
section 3.5).
"""

from __future__ import annotations

from services.kernel.errors import Invalid
from services.threads.domain.autonomy import LEVELS, TIERS, Policy


class PolicyWidens(Invalid):
    """The child's policy would widen the parent's on the named axes."""

    def __init__(self, axes: tuple[str, ...]) -> None:
        listed = ", ".join(axes)
        super().__init__("INVALID_POLICY", f"the policy would widen its parent's: {listed}", axes=listed)


def widened_axes(parent: Policy, child: Policy) -> tuple[str, ...]:
    """The axes on which `child` allows more than `parent`, in the order of the policy; empty if none."""
    checks = {
        "auto_advance_states": child.auto_advance_states <= parent.auto_advance_states,
        "consent_required_kinds": child.consent_required_kinds >= parent.consent_required_kinds,
        "inference_confidence_floor": child.inference_confidence_floor >= parent.inference_confidence_floor,
        "irreversibility_threshold": LEVELS.index(child.irreversibility_threshold)
        <= LEVELS.index(parent.irreversibility_threshold),
        "regret_potential_threshold": LEVELS.index(child.regret_potential_threshold)
        <= LEVELS.index(parent.regret_potential_threshold),
        "pause_on_risk_amplifier": child.pause_on_risk_amplifier or not parent.pause_on_risk_amplifier,
        "allowed_action_kinds": child.allowed_action_kinds <= parent.allowed_action_kinds,
        "allowed_invocation_contexts": child.allowed_invocation_contexts <= parent.allowed_invocation_contexts,
        "inference_floor_tier": TIERS.index(child.inference_floor_tier) >= TIERS.index(parent.inference_floor_tier),
        "inference_ceiling_tier": TIERS.index(child.inference_ceiling_tier)
        <= TIERS.index(parent.inference_ceiling_tier),
        "budget_usd": child.budget_usd <= parent.budget_usd,
    }
    return tuple(axis for axis, narrow in checks.items() if not narrow)


def refuse_widening(parent: Policy, child: Policy) -> None:
    """Raise PolicyWidens unless `child` is at most as free as `parent` on every axis but
    combined_inference.
    """
    if axes := widened_axes(parent, child):
        raise PolicyWidens(axes)
