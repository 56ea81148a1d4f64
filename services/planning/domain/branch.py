"""The saga of a branch (P.3): a record that says how far it is, whoever drives it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final


class Saga(StrEnum):
    """forking → (streaming has the session) opening → (streaming takes prompts) ready; refused for good: abandoning →
    (streaming has dropped it, and so has planning) failed."""

    FORKING = "forking"
    OPENING = "opening"
    READY = "ready"
    ABANDONING = "abandoning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch. `session_id`: its own; `origin_id`: the session it was made of, empty when that one is deleted."""

    tenant: str
    session_id: str
    origin_id: str
    turn: int
    origin_turn_id: str
    state: Saga
    reason: str
    title: str
    asked_by: str
    attempts: int
    due_at: datetime
    created_at: datetime


LEASE: Final = timedelta(seconds=15)
"""How long whoever drives a branch has it before another one may."""
_PAUSES: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds until a step that could not be done now is tried again; the last one from then on."""


def pause_after(attempts: int) -> timedelta:
    """How long to wait after so many attempts."""
    return timedelta(seconds=_PAUSES[min(max(attempts, 1), len(_PAUSES)) - 1])
