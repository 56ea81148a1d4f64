"""What a benchmark row says: figures with their raw limit, and the targets they are held against.

A ratio is the median of the rounds' own ratios (value and raw of one round were measured within seconds of each
other), so that a machine that changes its pace between rounds does not change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, assert_never


@dataclass(frozen=True, slots=True)
class RatioAtLeast:
    """The value is at least this part of the raw limit."""

    least: float


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The value itself is at least so much."""

    least: float


@dataclass(frozen=True, slots=True)
class AtMost:
    """The value itself is at most so much."""

    most: float


Target = RatioAtLeast | AtLeast | AtMost


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `values` and `raws` hold one number a round; a constant raw has one in all."""

    row: str
    what: str
    unit: str
    values: list[float]
    target: Target | None = None
    raws: list[float] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The median of the rounds."""
        return median(self.values)

    @property
    def raw(self) -> float | None:
        """The raw limit's median; None where there is none."""
        return median(self.raws) if self.raws else None

    @property
    def ratio(self) -> float | None:
        """Value by raw, the median of the rounds; None where there is no raw limit."""
        if not self.raws:
            return None
        raws = self.raws * len(self.values) if len(self.raws) == 1 else self.raws
        return median(value / raw for value, raw in zip(self.values, raws, strict=True))

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        match self.target:
            case None:
                return None
            case RatioAtLeast(least):
                return self.ratio is not None and self.ratio >= least
            case AtLeast(least):
                return self.value >= least
            case AtMost(most):
                return self.value <= most
            case other:
                assert_never(other)


def percentile(samples: Sequence[float], part: float) -> float:
    """The smallest sample that `part` (0..1) of the samples do not exceed; NaN for none."""
    if not samples:
        return float("nan")
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, max(0, -(-int(part * 1_000_000) * len(ordered) // 1_000_000) - 1))]
