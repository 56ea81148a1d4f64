"""What an agent may say on a session's stream, built from scratch by an allow-list (D1.5), and in which pieces.

Nothing of an event passes that is not named here: no arguments, outputs, errors or paths (I8). Text that no wire
could carry (NUL, lone surrogates) becomes U+FFFD (PUB22).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from services.kernel import frames
from services.kernel.text import storable

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_CALL_ID = re.compile(r"[A-Za-z0-9_.:|-]{1,128}")
_TOOL_STATUS = frozenset({"running", "completed", "failed"})
_STATUS = {
    "retrying": "The model is busy; trying again.",
    "compacting": "The conversation is being shortened.",
    "compacted": "The conversation was shortened.",
    "resumed": "The session was resumed.",
    "thinking_level": "The thinking level changed.",
}
_BLOCKS_MOST = 256
COALESCED_MOST = 4 * 1024
"""Adjacent deltas of one block are joined up to so many characters."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of text of one block: `text_delta` or `activity_delta`."""

    name: str
    block: int
    text: str

    def joins(self, other: Delta, size: int) -> bool:
        """Whether the other may be joined to this one, which has grown to `size` characters, as one event."""
        return self.name == other.name and self.block == other.block and size + len(other.text) <= COALESCED_MOST

    def lines(self) -> list[bytes]:
        """The event's data; more than one where it would be larger than 64 KiB."""
        line = frames.line_of_json({"delta": self.text, "block": self.block})
        if len(line) <= frames.MOST_BYTES:
            return [line]
        half = len(self.text) // 2
        parts = (self.text[:half], self.text[half:])
        return [line for text in parts for line in Delta(self.name, self.block, text).lines()]


@dataclass(frozen=True, slots=True)
class Fixed:
    """Any other event: its name and its data."""

    name: str
    line: bytes

    def lines(self) -> list[bytes]:
        """The event's data, as a list like a delta's."""
        return [self.line]


AgentEvent = Delta | Fixed


def delta(name: str, text: str, block: int) -> Delta:
    """A piece of text (an empty one arrives too)."""
    return Delta(name, max(block, 0), storable(text))


def text_reset(blocks: list[int]) -> Fixed:
    """These blocks are void; at most 256 are named."""
    return _fixed("text_reset", {"blocks": blocks[:_BLOCKS_MOST]})


def tool(call_id: str, name: str, status: str) -> Fixed | None:
    """A tool call: id, name, status. A name or id of another charset is replaced; an unknown status is dropped."""
    if status not in _TOOL_STATUS:
        return None
    if _TOOL_NAME.fullmatch(name) is None:
        name = "tool"
    if _CALL_ID.fullmatch(call_id) is None:
        call_id = f"call-{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return _fixed("tool", {"call_id": call_id, "name": name, "status": status})


def status(code: str) -> Fixed | None:
    """A status by its code; the words are ours, never the agent's. An unknown code is dropped."""
    text = _STATUS.get(code)
    return None if text is None else _fixed("status", {"code": code, "text": text})


def _fixed(name: str, body: dict[str, Any]) -> Fixed:
    return Fixed(name, frames.line_of_json(body))
