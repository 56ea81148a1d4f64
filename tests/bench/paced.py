"""An open loop: work begins on a schedule, whether or not earlier work is done. Measures latency.

A latency counts from the scheduled moment, not from when the sender got round to it: a server that stalls is charged
for everybody who would have come meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def paced(per_second: float, work: Sequence[T], do: Callable[[T, float], Awaitable[object]]) -> None:
    """Starts one piece every 1/per_second seconds and waits for all; `do` is given the piece and its scheduled
    moment (time.monotonic). The first failure ends it."""
    begin = time.monotonic() + 0.05
    async with asyncio.TaskGroup() as group:
        for number, piece in enumerate(work):
            due = begin + number / per_second
            wait = due - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            group.create_task(do(piece, due))  # type: ignore[arg-type]  # Awaitable by contract, coroutine in fact


async def paced_latencies(per_second: float, work: Sequence[T], do: Callable[[T], Awaitable[object]]) -> list[float]:
    """The same, answering each piece's milliseconds from its scheduled moment to its end."""
    taken: list[float] = []

    async def timed(piece: T, due: float) -> None:
        await do(piece)
        taken.append((time.monotonic() - due) * 1000)

    await paced(per_second, work, timed)
    return taken
