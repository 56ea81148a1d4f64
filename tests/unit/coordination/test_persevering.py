"""Background duties live over what is away, say so once, and leave no item out for another's fault (PUB07)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from services.coordination.application.persevering import Persevering
from services.kernel.errors import Conflict, NotFound, Unavailable
from tests.logs import logs_of

AWAY = Unavailable("DATABASE_UNAVAILABLE", "away")


async def goes_round(trying: Persevering, once: Callable[[], Awaitable[object]], times: int) -> None:
    """Runs the duty until it has gone round so often."""
    done = asyncio.Event()
    rounds = 0

    async def rest(seconds: float) -> None:
        nonlocal rounds
        rounds += 1
        if rounds == times:
            done.set()
        await asyncio.sleep(0)

    task = asyncio.create_task(trying.forever(once, 1, rest))
    async with asyncio.timeout(10):
        await done.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_is_away_for_long_is_told_once_and_then_goes_on() -> None:
    seen: list[int] = []

    async def once() -> None:
        seen.append(1)
        if len(seen) < 50:
            raise AWAY

    with logs_of("coordination.test") as logs:
        await goes_round(Persevering("test"), once, 60)
    assert len(seen) >= 60
    assert [entry["reason"] for entry in logs if entry["event"] == "duty.waits"] == ["DATABASE_UNAVAILABLE"]


async def test_a_fault_of_a_round_is_told_and_the_next_round_comes() -> None:
    faults = [RuntimeError("a bug"), Conflict("CONTENDED", "others")]

    async def once() -> None:
        if faults:
            raise faults.pop()

    with logs_of("coordination.test") as logs:
        await goes_round(Persevering("test"), once, 3)
    assert [entry["event"] for entry in logs] == ["duty.failed"]


async def test_an_item_that_fails_is_left_alone_for_a_while_and_the_others_are_done() -> None:
    trying = Persevering("test")
    done: list[str] = []

    async def item(key: str) -> bool:
        done.append(key)
        if key == "faulty":
            raise ValueError("a bug")
        if key == "refused":
            raise NotFound("JOB_NOT_FOUND", "no such job")
        if key == "away":
            raise AWAY
        return key != "undecided"

    keys = ["faulty", "refused", "away", "undecided", "well"]
    with logs_of("coordination.test") as logs:
        first = [await trying.attempt(key, lambda key=key: item(key)) for key in keys]  # type: ignore[misc]
        second = [await trying.attempt(key, lambda key=key: item(key)) for key in keys]  # type: ignore[misc]
    assert first == second == [False, False, False, False, True]
    assert done == [*keys, "well"], "only what went well is tried again at once"
    assert sorted(entry["event"] for entry in logs) == ["duty.item_failed", "duty.item_failed", "duty.waits"]


async def test_an_undecided_item_is_looked_at_again_soon() -> None:
    trying = Persevering("test")
    looks: list[int] = []

    async def item() -> bool:
        looks.append(1)
        return len(looks) > 1

    async with asyncio.timeout(30):
        while not await trying.attempt("one", item):
            await asyncio.sleep(0.02)
    assert len(looks) == 2
