"""Pings of the bus: the first goes at once, a burst becomes few, and whoever listens never sleeps over the last one."""

from __future__ import annotations

import asyncio

from nats.aio.msg import Msg

from services.kernel.bus import Bus

PINGS = 500


async def test_a_burst_of_pings_becomes_few_and_the_last_is_heard(nats_url: str) -> None:
    bus, other = await Bus.connect(nats_url, "pings"), await Bus.connect(nats_url, "hearer")
    heard: list[Msg] = []
    news = asyncio.Event()

    async def rang(message: Msg) -> None:
        heard.append(message)
        news.set()

    async def hear_more_than(count: int) -> None:
        async with asyncio.timeout(30):
            while len(heard) <= count:
                news.clear()
                await news.wait()

    try:
        await other.subscribe("wake.burst", rang)
        await other.request("$SYS.REQ.USER.INFO")  # the subscription is with the server
        await bus.ping("wake.burst")
        await hear_more_than(0)
        before = len(heard)
        for _ in range(PINGS):
            await bus.ping("wake.burst")
        await hear_more_than(before)
        assert len(heard) < PINGS / 2
    finally:
        await bus.close()
        await other.close()


async def test_pings_of_different_subjects_do_not_wait_for_each_other(nats_url: str) -> None:
    bus = await Bus.connect(nats_url, "pings")
    try:
        async with bus.listen("wake.one") as one, bus.listen("wake.two") as two:
            await bus.ping("wake.one")
            await bus.ping("wake.two")
            assert await one.wait(30)
            assert await two.wait(30)
            await bus.ping("wake.one")  # within the pause or after it: it is heard all the same
            assert await one.wait(30)
    finally:
        await bus.close()


async def test_a_ping_that_is_owed_when_the_bus_closes_is_no_fault(nats_url: str) -> None:
    bus = await Bus.connect(nats_url, "pings")
    await bus.ping("wake.late")
    await bus.ping("wake.late")
    await bus.close()
    async with asyncio.timeout(30):
        while bus._pinged or bus._late_pings:
            await asyncio.sleep(0.005)
