"""A drain cuts waits short, and nothing of them is left."""

from __future__ import annotations

import asyncio

import pytest

from services.kernel.drain import Drain


async def test_a_wait_that_ends_is_not_held_up() -> None:
    drain = Drain()
    await drain.cuts_short(asyncio.sleep(0))
    assert not drain.begun


async def test_a_drain_ends_waits_of_before_and_of_after_and_their_clean_up_is_done() -> None:
    drain, cleaned = Drain(), list[str]()

    async def wait(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(name)

    waiting = asyncio.create_task(drain.cuts_short(wait("before")))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    await drain.begin()
    await drain.begin()
    async with asyncio.timeout(30):
        await waiting
        assert drain.begun
        await drain.cuts_short(asyncio.Event().wait())
    assert cleaned == ["before"]


async def test_what_fails_in_a_wait_is_raised() -> None:
    async def fails() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        await Drain().cuts_short(fails())


async def test_who_waits_can_be_cancelled_and_takes_the_wait_along() -> None:
    drain, ended = Drain(), asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(drain.cuts_short(wait()))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert ended.is_set()
