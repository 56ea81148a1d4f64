"""What every row is given: how many rounds, how much of its load, a folder, and the raw limit interleaved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil

_LOOK_SECONDS = 0.5
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
    others: list[float] = field(default_factory=list)
    """Per cent of the processors that others used when a round was about to begin, one number a round."""

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
            self.others.append(await _busy_percent())
            if number % 2:
                raws.append(await raw(number))
                values.append(await measured(number))
            else:
                values.append(await measured(number))
                raws.append(await raw(number))
            self.say(f"{row}: round {number + 1} of {self.rounds}")
        return values, raws


async def _busy_percent() -> float:
    """How busy the processors are while nothing is measured."""
    psutil.cpu_percent()
    await asyncio.sleep(_LOOK_SECONDS)
    return psutil.cpu_percent()
