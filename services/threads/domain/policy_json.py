"""Autonomy policies as JSON: a preset's name or a partial object in, the twelve axes out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from services.kernel.errors import Invalid
from services.threads.domain import autonomy
from services.threads.domain.autonomy import Policy, Tier
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.states import State

_SETS: Mapping[str, frozenset[str]] = {
    "auto_advance_states": frozenset(State),
    "consent_required_kinds": autonomy.CONSENT_KINDS,
    "allowed_action_kinds": autonomy.ACTION_KINDS,
    "allowed_invocation_contexts": autonomy.INVOCATION_CONTEXTS,
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "irreversibility_threshold": autonomy.LEVELS,
    "regret_potential_threshold": autonomy.LEVELS,
    "inference_floor_tier": autonomy.TIERS,
    "inference_ceiling_tier": autonomy.TIERS,
}
_NUMBERS: Mapping[str, float] = {"inference_confidence_floor": 1.0, "budget_usd": 1_000_000.0}
_FLAGS = frozenset({"pause_on_risk_amplifier", "combined_inference"})


def policy_from(value: Json, default: str = autonomy.DEFAULT_PRESET, base: Policy | None = None) -> Policy:
    """None gives `base`, else the `default` preset; a string a preset; an object lays its own axes on top of `base`,
    else of the default axes.

    Raises Invalid, naming the axis, on an unknown preset, axis or value.
    """
    if value is None:
        return autonomy.PRESETS[default] if base is None else base
    if isinstance(value, str):
        if value not in autonomy.PRESETS:
            names = ", ".join(autonomy.PRESETS)
            raise Invalid("INVALID_POLICY", f"autonomy is one of {names}, or an object", field="autonomy")
        return autonomy.PRESETS[value]
    if not isinstance(value, Mapping):
        raise Invalid("INVALID_POLICY", "autonomy is a preset's name or an object", field="autonomy")
    policy = autonomy.compose(base, {axis: _axis(axis, given) for axis, given in value.items()})
    if autonomy.TIERS.index(policy.inference_floor_tier) > autonomy.TIERS.index(policy.inference_ceiling_tier):
        raise Invalid("INVALID_POLICY", "the tier floor is above its ceiling", field="autonomy.inference_floor_tier")
    return policy


def policy_json(policy: Policy) -> JsonObject:
    """All twelve axes; sets become sorted lists."""
    return {
        "auto_advance_states": sorted(policy.auto_advance_states),
        "consent_required_kinds": sorted(policy.consent_required_kinds),
        "inference_confidence_floor": policy.inference_confidence_floor,
        "irreversibility_threshold": policy.irreversibility_threshold,
        "regret_potential_threshold": policy.regret_potential_threshold,
        "pause_on_risk_amplifier": policy.pause_on_risk_amplifier,
        "allowed_action_kinds": sorted(policy.allowed_action_kinds),
        "allowed_invocation_contexts": sorted(policy.allowed_invocation_contexts),
        "inference_floor_tier": policy.inference_floor_tier,
        "inference_ceiling_tier": policy.inference_ceiling_tier,
        "budget_usd": policy.budget_usd,
        "combined_inference": policy.combined_inference,
    }


def _axis(axis: str, value: Json) -> object:
    if axis in _SETS:
        return _set(axis, value)
    if axis in _CHOICES:
        if value not in _CHOICES[axis]:
            raise _invalid(axis, f"is one of {', '.join(_CHOICES[axis])}")
        return cast(Tier, value)
    if axis in _NUMBERS:
        return _number(axis, value)
    if axis in _FLAGS:
        if not isinstance(value, bool):
            raise _invalid(axis, "is true or false")
        return value
    raise Invalid("INVALID_POLICY", "autonomy has no such axis", field="autonomy", axis=axis)


def _set(axis: str, value: Json) -> frozenset[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
        raise _invalid(axis, "is a list of strings")
    given = frozenset(cast("list[str]", value))
    if unknown := sorted(given - _SETS[axis]):
        raise _invalid(axis, f"has no value {unknown[0]!r}")
    return frozenset(State(entry) for entry in given) if axis == "auto_advance_states" else given


def _number(axis: str, value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _invalid(axis, "is a number")
    if not math.isfinite(value) or not 0 <= value <= _NUMBERS[axis]:
        raise _invalid(axis, f"is between 0 and {_NUMBERS[axis]:g}")
    return float(value)


def _invalid(axis: str, says: str) -> Invalid:
    return Invalid("INVALID_POLICY", f"autonomy.{axis} {says}", field=f"autonomy.{axis}")
