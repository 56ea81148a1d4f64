"""What every row is given: how many rounds, how much of its load, a folder, and the raw limit interleaved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Workbench:
    """`profile`: deployables under test run under cProfile and leave their statistics there."""

    rounds: int
    quick: bool
    folder: Path
    say: Callable[[str], None]
    profile: Path | None = None

    def load(self, full: int, quick: int) -> int:
        """How much to do: the real load, or that of a quick run, whose figures mean little."""
        return quick if self.quick else full

    def room(self, name: str) -> Path:
        """A folder of the row's own."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    async def interleaved(
        self, row: str, measured: Callable[[int], Awaitable[A]], raw: Callable[[int], Awaitable[B]]
    ) -> tuple[list[A], list[B]]:
        """Both halves once a round; who goes first alternates, so that neither profits from the other's warmth."""
        values: list[A] = []
        raws: list[B] = []
        for number in range(self.rounds):
            if number % 2:
                raws.append(await raw(number))
                values.append(await measured(number))
            else:
                values.append(await measured(number))
                raws.append(await raw(number))
            self.say(f"{row}: round {number + 1} of {self.rounds}")
        return values, raws
