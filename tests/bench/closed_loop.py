"""A closed loop: so many clients, each takes the next piece of work when its last one is done. Measures throughput."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loop:
    """What it did: `seconds` from the first start to the last end, and each piece's own milliseconds."""

    done: int
    seconds: float
    milliseconds: list[float]

    @property
    def per_second(self) -> float:
        """Throughput."""
        return self.done / self.seconds


async def closed_loop(clients: int, work: Iterable[T], do: Callable[[int, T], Awaitable[object]]) -> Loop:
    """Does all the work; `do` is given the client's number and a piece. The first failure ends it."""
    pieces = iter(work)
    taken: list[float] = []

    async def client(number: int) -> None:
        for piece in pieces:
            begin = time.perf_counter()
            await do(number, piece)
            taken.append((time.perf_counter() - begin) * 1000)

    begin = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(client(number))
    return Loop(len(taken), time.perf_counter() - begin, taken)
