"""May a thread go on without its person? The rule of auto-advance with its audit (design/threads.md,
section 3.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from services.threads.domain.autonomy import AUTONOMOUS, LEVELS, Policy
from services.threads.domain.canonical import Json
from services.threads.domain.proposal import Proposal
from services.threads.domain.states import CONFIRMATION, Target

CONSENT: Mapping[Target, frozenset[str]] = {
    Target.INTENT: frozenset({"intent_inferred", "intent_confirmed"}),
    Target.CONTEXT: frozenset({"context_inferred", "context_confirmed"}),
    Target.ACTION: frozenset({"action_inferred", "action_confirmed", "action_picked", "action_approved"}),
}
"""Which consent kinds guard which gate: presets say *_approved, events say *_inferred, both mean it
(section 7.1-15).
"""


@dataclass(frozen=True)
class Verdict:
    """`axes` lists every axis that was looked at; one that blocks is prefixed with `!`."""

    advance: bool
    axes: tuple[str, ...]


def judge(policy: Policy, target: Target, confidence: float | None, proposal: Proposal | None = None) -> Verdict:
    """Advance only if every axis agrees; what is missing or unknown blocks. `proposal` is given at the
    action gate.
    """
    checks = {
        "auto_advance_states": CONFIRMATION[target] in policy.auto_advance_states,
        "inference_confidence_floor": confidence is not None and confidence >= policy.inference_confidence_floor,
        "consent_required_kinds": not (policy.consent_required_kinds & CONSENT[target]),
    }
    if target is Target.ACTION:
        checks |= _action_checks(policy, proposal)
    axes = tuple(axis if passes else f"!{axis}" for axis, passes in checks.items())
    return Verdict(all(checks.values()), axes)


def _action_checks(policy: Policy, proposal: Proposal | None) -> dict[str, bool]:
    content = proposal.content if proposal else {}
    return {
        "allowed_action_kinds": content.get("kind") in policy.allowed_action_kinds,
        "allowed_invocation_contexts": AUTONOMOUS in policy.allowed_invocation_contexts
        and content.get("autonomous", True) is True,
        "executable": proposal is not None and proposal.is_executable,
        "irreversibility_threshold": _at_most(content.get("irreversibility"), policy.irreversibility_threshold),
        "regret_potential_threshold": _at_most(content.get("regret_potential"), policy.regret_potential_threshold),
        "pause_on_risk_amplifier": not (policy.pause_on_risk_amplifier and bool(content.get("risk_amplifier"))),
    }


def _at_most(level: Json, threshold: str) -> bool:
    """A missing or unknown level counts as high."""
    known = level if isinstance(level, str) and level in LEVELS else "high"
    order: tuple[str, ...] = LEVELS
    return order.index(known) <= order.index(threshold)
