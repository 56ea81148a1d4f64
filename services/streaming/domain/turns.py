"""A turn's states as a table (D1.1): what may happen in which state, and what follows. Pure.

`waiting` is exactly: some gate is open. Whoever closes gates says how many are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from services.kernel.errors import NotAllowed
from services.streaming.domain.session import TurnState

CODES: Final = frozenset(
    {"provider_error", "child_exit", "protocol_error", "start_failed", "runner_lost", "provider_timeout"}
)
"""Why a turn failed: all that is ever told of it."""
UNDER_WAY: Final = frozenset({TurnState.RUNNING, TurnState.WAITING})


class TurnStage(StrEnum):
    """Where a turn stands; `starting`: planning is asked, and its agent knows nothing of it."""

    STARTING = "starting"
    IDLE = "idle"
    RUNNING = "running"
    WAITING = "waiting"
    FAILED = "failed"


class Outcome(StrEnum):
    """How a turn ended."""

    OK = "ok"
    TRUNCATED = "truncated"
    ABORTED = "aborted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A person begins a turn."""


@dataclass(frozen=True, slots=True)
class Steer:
    """A person says something to a working agent; open gates are cancelled first."""


@dataclass(frozen=True, slots=True)
class Abort:
    """A person stops the turn; open gates are cancelled first. It ends when the agent has stopped."""


@dataclass(frozen=True, slots=True)
class GateOpened:
    """The agent asks a person."""


@dataclass(frozen=True, slots=True)
class GateClosed:
    """A gate was answered, cancelled or expired; so many are left open."""

    left: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The agent is done."""

    outcome: Outcome


Happening = Prompt | Steer | Abort | GateOpened | GateClosed | Settled


def after(state: TurnState, happening: Happening) -> TurnState:
    """The state that follows. NotAllowed TURN_RUNNING or TURN_NOT_RUNNING where it may not happen."""
    under_way = state in UNDER_WAY
    match happening:
        case Prompt():
            if under_way:
                raise NotAllowed("TURN_RUNNING", "a turn is under way: steer or abort it", state=state)
            return TurnState.RUNNING
        case Steer() | Abort() | GateOpened() | GateClosed() | Settled() if not under_way:
            raise NotAllowed("TURN_NOT_RUNNING", "no turn is under way", state=state)
        case Steer() | Abort():
            return TurnState.RUNNING
        case GateOpened():
            return TurnState.WAITING
        case GateClosed(left):
            return TurnState.WAITING if left else TurnState.RUNNING
        case Settled(outcome):
            return TurnState.FAILED if outcome is Outcome.FAILED else TurnState.IDLE
        case _:
            assert_never(happening)


def known_code(code: str) -> str:
    """The code as it may be told; one that is not of the list becomes `protocol_error`."""
    return code if code in CODES else "protocol_error"
