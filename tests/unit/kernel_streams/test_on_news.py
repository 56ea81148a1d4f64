"""A reader that takes what is new without being woken: nothing is lost, doubled or said twice, whoever writes."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

from services.kernel.frames import sse
from services.kernel.hub import HubLimits, ReaderLimits, RingLimits, StreamClosed
from services.kernel.hubs import Hubs
from tests.unit.kernel_streams.list_source import ListSource

_LIMITS = HubLimits(RingLimits(frames=2_000), ReaderLimits(frames=1_000), idle=0.02)


async def test_what_is_taken_and_what_is_waited_for_are_together_everything_once() -> None:
    source, dice = ListSource(), random.Random(3)
    hubs: Hubs[str] = Hubs(lambda _: source, sse, _LIMITS)
    pings = asyncio.create_task(hubs.run())
    written: list[bytes] = []
    counts = {"taken": 0, "waited": 0, "silent": 0}

    async with hubs.reader("s", None) as reader:

        def on_news() -> bool:
            if dice.random() < 0.3:
                return False  # the peer is busy
            written.append(reader.take(dice.choice([100, 100_000])))
            counts["taken"] += 1
            return reader.level

        async def write() -> None:
            with suppress(StreamClosed):
                while True:
                    data = await reader.wire(dice.choice([100, 100_000]))
                    written.append(data)
                    counts["waited" if data else "silent"] += 1
                    if dice.random() < 0.3:
                        await asyncio.sleep(0.002)

        reader.on_news = on_news
        writer = asyncio.create_task(write())
        for _ in range(300):
            source.say(dice.randint(1, 5))
            await asyncio.sleep(dice.choice([0, 0, 0.001]))
        await asyncio.sleep(0.1)
        hubs_end = b"".join(written)
        await hubs.close()
        await writer
    pings.cancel()
    said = [line.removeprefix(b"id: 1-") for line in hubs_end.split(b"\n") if line.startswith(b"id: ")]
    assert [int(n) for n in said] == list(range(1, len(said) + 1))
    assert len(said) == source._said
    assert counts["taken"] > 20
    assert counts["waited"] > 20
    assert counts["silent"] > 0
