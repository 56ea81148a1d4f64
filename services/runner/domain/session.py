"""A session as its runner sees it: what it holds, what goes up, what comes down (design/streaming.md S.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from services.runner.domain.agent import (
    ActivityDelta,
    GateKind,
    GateReply,
    Outcome,
    Status,
    TextDelta,
    TextReset,
    Tool,
    TurnFailure,
    Usage,
)

FINAL_TEXT_BYTES: Final = 3 * 1024 * 1024
"""What is kept of a turn's answer; a longer one is cut there, and its turn is `truncated`."""


@dataclass(frozen=True, slots=True)
class SessionOrder:
    """What a session's job says. `state`: the digest of the agent's state to go on from; `token` acts for
    the session, and for it alone."""

    session: str
    adapter: str
    provider: str
    model: str
    thinking: str
    state: str | None
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class AskedPerson:
    """The agent opened a gate. `request` names the question for ever, over agents and runners."""

    request: str
    kind: GateKind
    proposal: Mapping[str, Any]
    timeout: int


@dataclass(frozen=True, slots=True)
class TookBack:
    """The agent does not ask any more."""

    request: str
    expired: bool


@dataclass(frozen=True, slots=True)
class Settled:
    """A turn is over."""

    turn: str
    end: Outcome | TurnFailure
    text: str
    usage: Usage = field(default=Usage())


Said: TypeAlias = ActivityDelta | TextDelta | TextReset | Tool | Status | AskedPerson | TookBack | Settled
"""What shares one numbering on its way up."""


@dataclass(frozen=True, slots=True)
class BeginTurn:
    """A prompt."""

    turn: str
    text: str


@dataclass(frozen=True, slots=True)
class Steer:
    """Words in the middle of a turn."""

    turn: str
    text: str


@dataclass(frozen=True, slots=True)
class Abort:
    """Ends the turn."""

    turn: str


@dataclass(frozen=True, slots=True)
class GateClosedBy:
    """What became of a gate. `proposal`: what was asked, for an agent that did not ask it itself."""

    turn: str
    request: str
    kind: str
    proposal: Mapping[str, Any]
    reply: GateReply


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The agent is not wanted any more."""


Order: TypeAlias = BeginTurn | Steer | Abort | GateClosedBy | Shutdown


@dataclass(frozen=True, slots=True)
class Command:
    """An order with its place; each is taken once, in order."""

    sequence: int
    order: Order
