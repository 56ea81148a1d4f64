"""What an agent says and is told, whatever drives it (design/streaming.md D1.1, D1.2). Knows no process and no wire.

Keys of gates are the agent's own; who shows them gives them ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

THINKING_LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh")
STATE_BYTES: Final = 8 * 1024 * 1024
"""An agent's state is at most so large (S.7)."""


class ToolStatus(StrEnum):
    """Where a tool call is. Every call that started gets exactly one end."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class GateKind(StrEnum):
    """What a reviewer is asked (D1.6)."""

    CHOICE = "choice"
    DIALOG = "dialog"
    JOIN_REVIEW = "join-review"
    PHASE_SUMMARY = "phase-summary"


class GateEnd(StrEnum):
    """How a gate closed from the agent's side; an answer comes from the reviewer."""

    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Outcome(StrEnum):
    """How a turn ended that did not fail."""

    OK = "ok"
    TRUNCATED = "truncated"
    ABORTED = "aborted"


class TurnFailure(StrEnum):
    """Why a turn failed. The raw reason stays here (D1.1)."""

    PROVIDER_ERROR = "provider_error"
    PROVIDER_TIMEOUT = "provider_timeout"
    CHILD_EXIT = "child_exit"
    PROTOCOL_ERROR = "protocol_error"
    START_FAILED = "start_failed"


@dataclass(frozen=True, slots=True)
class ActivityDelta:
    """A piece of thinking."""

    block: int
    delta: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    block: int
    delta: str


@dataclass(frozen=True, slots=True)
class TextReset:
    """These blocks of the answer are void."""

    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call: nothing of its arguments and results."""

    call_id: str
    name: str
    status: ToolStatus


@dataclass(frozen=True, slots=True)
class Status:
    """Something worth knowing, by its code: `retrying`, `compacting`, `compacted`."""

    code: str


@dataclass(frozen=True, slots=True)
class GateOpened:
    """The agent waits for a reviewer. `key`: its own name for the gate."""

    key: str
    kind: GateKind
    proposal: Mapping[str, Any]
    timeout: int = 0
    """Seconds after which the agent goes on by itself, with some slack; 0: it waits."""


@dataclass(frozen=True, slots=True)
class GateClosed:
    """The agent does not wait for this answer any more."""

    key: str
    end: GateEnd


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a turn has read and written, as the model's provider counts them."""

    read: int = 0
    written: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.read + other.read, self.written + other.written)


@dataclass(frozen=True, slots=True)
class TurnSettled:
    """The turn is over. `text`: what stands of its answer, the blocks parted by empty lines. `usage`: what it cost;
    nothing where nobody counts."""

    end: Outcome | TurnFailure
    text: str
    usage: Usage = field(default=Usage(), compare=False)


@dataclass(frozen=True, slots=True)
class AgentGone:
    """The agent has ended by itself; it takes no more commands."""


AgentEvent: TypeAlias = (
    ActivityDelta | TextDelta | TextReset | Tool | Status | GateOpened | GateClosed | TurnSettled | AgentGone
)


class GateState(StrEnum):
    """What became of a gate, as its agent hears it."""

    ANSWERED = "answered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    REFUSED = "refused"
    """The proposal is malformed; `text` says how."""


@dataclass(frozen=True, slots=True)
class GateReply:
    """What the reviewer said: an option, `continue`, or `other` with words of their own; `confirmed` for yes or no."""

    state: GateState = GateState.ANSWERED
    value: str | None = None
    text: str = ""
    confirmed: bool | None = None


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What to start: `state` is what an earlier agent of this session left, None for a new conversation;
    `token` acts for the session, and for it alone."""

    session: str
    provider: str
    model: str
    thinking: str
    state: bytes | None = None
    token: str = field(default="", repr=False)
