"""Dotted numbers, leaves and progress, derived from raw depths (C4, PUB14). Numbers are for reading, not addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.planning.domain.step import Step


def levels(depths: Sequence[int]) -> list[int]:
    """The level that each row really has: how many rows before it are its ancestors, an ancestor being the nearest
    row before with a smaller raw depth. Two orphans of equal depth are siblings: [0, 2, 2] has levels 0, 1, 1."""
    found: list[int] = []
    ancestors: list[int] = []
    for depth in depths:
        while ancestors and ancestors[-1] >= depth:
            ancestors.pop()
        found.append(len(ancestors))
        ancestors.append(depth)
    return found


def parents(depths: Sequence[int]) -> list[int | None]:
    """The position (0-based) of each row's parent."""
    found: list[int | None] = []
    ancestors: list[int] = []
    for at, depth in enumerate(depths):
        while ancestors and depths[ancestors[-1]] >= depth:
            ancestors.pop()
        found.append(ancestors[-1] if ancestors else None)
        ancestors.append(at)
    return found


def numbers(depths: Sequence[int]) -> list[str]:
    """`1`, `1.1`, `2` …: unique and strictly increasing in list order, no sibling left out."""
    found: list[str] = []
    counters: list[int] = []
    for level in levels(depths):
        del counters[level + 1 :]
        if len(counters) == level:
            counters.append(0)
        counters[level] += 1
        found.append(".".join(map(str, counters)))
    return found


def leaves(depths: Sequence[int]) -> list[bool]:
    """Whether each row has no sub-steps: it is the last, or the next one is not deeper."""
    return [at + 1 == len(depths) or depths[at + 1] <= depth for at, depth in enumerate(depths)]


@dataclass(frozen=True, slots=True)
class Progress:
    """Leaves only: a checked parent counts for nothing."""

    leaves: int
    done: int

    @property
    def ratio(self) -> float:
        """0..1; 0 without steps."""
        return self.done / self.leaves if self.leaves else 0.0

    @property
    def complete(self) -> bool:
        """There are leaves, and all are done."""
        return self.leaves > 0 and self.done == self.leaves


def progress(steps: Sequence[Step]) -> Progress:
    """Of a plan."""
    return progress_of([(step.depth, step.done) for step in steps])


def progress_of(shape: Sequence[tuple[int, bool]]) -> Progress:
    """Of (depth, done) in order."""
    done = [row[1] for row, leaf in zip(shape, leaves([row[0] for row in shape]), strict=True) if leaf]
    return Progress(len(done), sum(done))
