"""Cursors: `{generation}-{n}` as a reader sends them back. Decides what is well formed, not what is still there.

Digits are ASCII and bounded to 63 bits: int() alone accepts " 5 ", "+5", "1_0" and Arabic digits, and raises
on 5,000 of them (PUB05).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CURSOR = re.compile(rb"(?:([0-9]{1,19})-)?([0-9]{1,19})")
_MOST = 2**63 - 1
_LONGEST = 39  # two numbers of 19 digits and the dash


class Position(NamedTuple):
    """A place in a stream: after event `n` of `generation`."""

    generation: int
    n: int

    def __str__(self) -> str:
        return f"{self.generation}-{self.n}"


class Bare(NamedTuple):
    """A plain integer, without a generation (the seed's form)."""

    n: int


class Absent(NamedTuple):
    """No cursor: the reader has nothing."""


class Malformed(NamedTuple):
    """Not a cursor at all; told apart from none, because its reader had something."""


Cursor = Position | Bare | Absent | Malformed


def parse(text: str | None) -> Cursor:
    """Reads a cursor as it came from a header or a query. Never raises."""
    if text is None or text == "":
        return Absent()
    if len(text) > _LONGEST or not text.isascii():
        return Malformed()
    match = _CURSOR.fullmatch(text.encode())
    if match is None:
        return Malformed()
    generation, n = match.group(1), int(match.group(2))
    if n > _MOST:
        return Malformed()
    if generation is None:
        return Bare(n)
    if int(generation) > _MOST:
        return Malformed()
    return Position(int(generation), n)


def position_of(frame_id: str) -> Position | None:
    """The position that one of our own ids names; None for an empty or foreign id."""
    cursor = parse(frame_id)
    return cursor if isinstance(cursor, Position) else None


class Start(NamedTuple):
    """Where a reader goes on: after event `after` of the current generation; `reset` says why that is not the
    continuation of what it has, if it is not."""

    after: int
    reset: str | None


def start_of(cursor: Cursor, generation: int, first: int, last: int, *, bare: bool) -> Start:
    """The rules of D1.3 and PUB05, for a stream that keeps events `first`..`last` of `generation` (last = first - 1:
    none). `bare`: plain integers are taken for positions of the current generation (the seed's rule)."""
    match cursor:
        case Absent():
            return Start(0, None)
        case Bare(n) if bare:
            position = Position(generation, n)
        case Position() as position:
            pass
        case _:
            return Start(0, "malformed")
    if position.generation != generation:
        return Start(0, "generation")
    if position.n > last:
        return Start(0, "ahead")
    if position.n < first - 1:
        return Start(0, "gap")
    return Start(position.n, None)
