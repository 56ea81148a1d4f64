"""How a piece of work ended, from the runner's side."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from services.runner.domain.failure import Code


@dataclass(frozen=True, slots=True)
class Completed:
    """With a result, a JSON object."""

    result: bytes


@dataclass(frozen=True, slots=True)
class GaveUp:
    """Without one, for a reason with a stable code."""

    code: Code
    detail: str = ""
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """The lease is not ours any more: nothing is reported, somebody else decides."""


Outcome: TypeAlias = Completed | GaveUp | Dropped


class Stop(StrEnum):
    """Why work is stopped before its end."""

    CANCELLED = "cancelled"
    """The owner does not want it any more (heartbeat answer)."""
    LOST = "lost"
    """The lease is over, or cannot be kept."""
    DRAINED = "drained"
    """This runner stops."""
