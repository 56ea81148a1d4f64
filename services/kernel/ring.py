"""The ring: the newest encoded events of one stream, bounded by count and bytes. Knows positions, not readers.

Slots are counted from the ring's birth and never reused, so that a reader is one integer: the slot it has come to.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum

from services.kernel.cursors import Position
from services.kernel.frames import Frame


@dataclass(frozen=True, slots=True)
class RingLimits:
    """What a ring keeps, at most."""

    frames: int = 5_000
    bytes: int = 4 * 1024 * 1024


class Elsewhere(Enum):
    """Why the ring cannot serve a position."""

    OLDER = "older"
    """Before what the ring covers, or of another generation: the log decides."""
    NEWER = "newer"
    """After what the ring has seen: the ring may be behind the log."""


class Ring:
    """Covers every event with n in (`floor`, `last`] of `generation`; n rises, but need not be dense."""

    def __init__(self, limits: RingLimits) -> None:
        self._limits = limits
        self._frames: list[Frame] = []
        self._wires: list[bytes] = []
        self._ns: list[int] = []
        self._ends: list[int] = []  # wire bytes from the ring's birth to the end of this slot
        self._joined: tuple[int, int, bytes] = (0, 0, b"")
        self.first = 0
        """The oldest slot that is kept."""
        self.generation = 0
        self.floor = 0
        self.last = 0
        self.complete = False
        """Whether a reader that has nothing may begin at `first`."""

    @property
    def end(self) -> int:
        """The slot that the next event will get."""
        return self.first + len(self._frames)

    @property
    def position(self) -> str:
        """The cursor of a reader that has everything."""
        return str(Position(self.generation, self.last))

    def restart(self, position: Position, complete: bool) -> None:
        """Forgets everything and begins after `position`."""
        self.first = self.end
        for kept in (self._frames, self._wires, self._ns, self._ends):
            kept.clear()
        self.generation, self.floor, self.last, self.complete = (*position, position.n, complete)

    def append(self, n: int, frame: Frame, wire: bytes) -> None:
        """Takes the next event; trims the oldest ones beyond the limits, always keeping the newest."""
        self._frames.append(frame)
        self._wires.append(wire)
        self._ns.append(n)
        self._ends.append((self._ends[-1] if self._ends else 0) + len(wire))
        self.last = n
        excess = max(0, len(self._frames) - self._limits.frames)
        over = self._ends[-1] - self._start_of_bytes() - self._limits.bytes
        if over > 0:
            excess = max(excess, bisect_right(self._ends, self._start_of_bytes() + over - 1) + 1)
        excess = min(excess, len(self._frames) - 1)
        if excess:
            self._trim(excess)

    def locate(self, position: Position | None) -> int | Elsewhere:
        """The slot at which a reader that has everything up to `position` goes on; None is a reader with
        nothing."""
        if position is None:
            return self.first if self.complete else Elsewhere.OLDER
        if position.generation != self.generation or position.n < self.floor:
            return Elsewhere.OLDER
        if position.n > self.last:
            return Elsewhere.NEWER
        return self.first + bisect_right(self._ns, position.n)

    def size(self, start: int, end: int) -> int:
        """Wire bytes of the slots [start, end); both are kept slots."""
        if end <= start:
            return 0
        return self._ends[end - 1 - self.first] - self._before(start)

    def fit(self, start: int, most_bytes: int) -> int:
        """The end of the longest run from `start` with at most `most_bytes` (one slot at least)."""
        if self._ends[-1] - self._before(start) <= most_bytes:
            return self.end
        end = self.first + bisect_right(self._ends, self._before(start) + most_bytes)
        return max(start + 1, end)

    def id_at(self, slot: int) -> str:
        """The id of the frame in a kept slot."""
        return self._frames[slot - self.first].id

    def frames(self, start: int, end: int) -> list[Frame]:
        """The frames of the slots [start, end)."""
        return self._frames[start - self.first : end - self.first]

    def wire(self, start: int, end: int) -> bytes:
        """The encoded frames of the slots [start, end). The newest answer is kept: readers that are level
        share it."""
        held_start, held_end, held = self._joined
        if (start, end) != (held_start, held_end):
            held = b"".join(self._wires[start - self.first : end - self.first])
            self._joined = (start, end, held)
        return held

    def _before(self, slot: int) -> int:
        index = slot - self.first
        return self._ends[index - 1] if index else self._start_of_bytes()

    def _start_of_bytes(self) -> int:
        return self._ends[0] - len(self._wires[0]) if self._ends else 0

    def _trim(self, count: int) -> None:
        self.floor = self._ns[count - 1]
        self.complete = False
        self.first += count
        for kept in (self._frames, self._wires, self._ns, self._ends):
            del kept[:count]
