"""Frames: one event as it goes over a wire, and its two encodings, each made once and shared by all readers.

Data is always one line of JSON; U+2028, U+2029 and U+0085 are escaped, so that a reader that splits lines by
Unicode's rules sees one line too (PUB15).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

MOST_BYTES = 64 * 1024
"""Largest `data` of a frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    """`id` is the cursor after this event ("" where it moves no cursor); `event` its name; `data` one line of
    JSON."""

    id: str
    event: str
    data: bytes


def line_of_json(value: Any) -> bytes:
    """One line of JSON; control characters, and what some readers take for line ends, are escaped."""
    return escape_line_ends(orjson.dumps(value))


def escape_line_ends(data: bytes) -> bytes:
    """Escapes U+2028, U+2029 and U+0085 in JSON (they can stand only inside its strings)."""
    if b"\xe2\x80" in data:
        data = data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    if b"\xc2\x85" in data:
        data = data.replace(b"\xc2\x85", b"\\u0085")
    return data


def sse(frame: Frame) -> bytes:
    """The frame as Server-Sent Events text; no `id:` line where the frame moves no cursor."""
    head = f"id: {frame.id}\nevent: {frame.event}\ndata: " if frame.id else f"event: {frame.event}\ndata: "
    return b"%b%b\n\n" % (head.encode("ascii"), frame.data)


def data_of(frame: Frame) -> bytes:
    """The frame's data alone: for hubs whose readers take frames, not bytes (it is what their limits count)."""
    return frame.data


def reset(reason: str, oldest_id: str) -> Frame:
    """What tells a reader that what follows is not the continuation of what it has. `reason`: gap,
    generation, ahead or malformed (D1.3)."""
    return Frame("", "reset", line_of_json({"reason": reason, "oldest_id": oldest_id}))
