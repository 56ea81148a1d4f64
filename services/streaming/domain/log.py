"""A session's log as its writers see it: entries in order, each with who it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

GENERATION: Final = "generation"
"""Name of a pending row that is no event: a new generation begins here, and its opener has the row's id."""
DELETED: Final = "deleted"
"""The last event of a session: nothing is appended behind it."""


class Origin(NamedTuple):
    """How far the runner's events are in the log, carried on by every entry. `epoch` is the newest Attach that wrote;
    within `numbering` everything up to `sequence` is stored, and the first `parts` pieces of the event after it."""

    epoch: int = 0
    numbering: int = 0
    sequence: int = 0
    parts: int = 0

    def reach(self, numbering: int) -> tuple[int, int]:
        """(sequence, parts) of that numbering; (0, 0) where the log knows another one."""
        return (self.sequence, self.parts) if self.numbering == numbering else (0, 0)

    def covers(self, other: Origin) -> bool:
        """Whether what the other stands for is stored already."""
        return self.numbering == other.numbering and (self.sequence, self.parts) >= (other.sequence, other.parts)


class Unsaid(NamedTuple):
    """An event that is to be appended."""

    event_id: str
    name: str
    line: bytes


class Entry(NamedTuple):
    """An event in the log. `seq` is the stream's sequence (the chain's link), (`generation`, `n`) its id."""

    seq: int
    generation: int
    n: int
    event_id: str
    name: str
    origin: Origin
    line: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """What Postgres knows of a session's log: the generation in force, and the last tail that was recorded."""

    generation: int
    tail_generation: int
    tail_n: int

    def agrees(self, tail: Entry | None) -> bool:
        """Whether the log's tail can be gone on from: of this generation, and not below what was recorded."""
        if tail is None or tail.generation != self.generation:
            return False
        return self.tail_generation != self.generation or tail.n >= self.tail_n
