"""The hub: every reader has everything once and in order, or is told (D1.3, D1.8, PUB05, PUB06, PUB16, PUB17)."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
from collections.abc import AsyncIterator
from contextlib import aclosing

import orjson
import pytest

from services.kernel.frames import Frame, data_of, sse
from services.kernel.hub import HubLimits, Reader, ReaderLimits, RingLimits, StreamClosed
from services.kernel.hubs import Hubs
from tests.unit.kernel_streams.list_source import ListSource
from tests.unit.kernel_streams.test_cursors import MALFORMED

SMALL = HubLimits(RingLimits(frames=20, bytes=100_000), ReaderLimits(frames=10, bytes=50_000), idle=0.05)


def hubs_of(source: ListSource, limits: HubLimits = SMALL, linger: float = 0.0) -> Hubs[str]:
    return Hubs(lambda _: source, data_of, limits, linger=linger)


@pytest.fixture
async def source() -> ListSource:
    """Generation 2 with events 1..40, of which the log keeps 20."""
    source = ListSource(generation=2, kept=20)
    source.say(40)
    return source


@pytest.fixture
async def hubs(source: ListSource) -> AsyncIterator[Hubs[str]]:
    hubs = hubs_of(source)
    yield hubs
    await hubs.close()


async def take(reader: Reader, count: int) -> list[Frame]:
    frames: list[Frame] = []
    async with asyncio.timeout(5):
        while len(frames) < count:
            frames += await reader.frames()
    return frames


def ids(frames: list[Frame]) -> list[str]:
    return [frame.id for frame in frames]


KEPT = [f"2-{n}" for n in range(21, 41)]
NEWS = ["2-41", "2-42"]


@pytest.mark.parametrize(
    ("cursor", "reset", "replayed"),
    [
        (None, None, KEPT),
        ("", None, KEPT),
        *((text, "malformed", KEPT) for text in MALFORMED),
        ("2-41", "ahead", KEPT),
        ("1-9999", "generation", KEPT),
        ("2-3", "gap", KEPT),
        ("2-19", "gap", KEPT),
        ("2-20", None, KEPT),
        ("2-25", None, KEPT[5:]),
        ("25", None, KEPT[5:]),
        ("2-40", None, []),
    ],
)
async def test_pub05_every_cursor_is_honoured_or_told_and_hears_the_news_once(
    source: ListSource, hubs: Hubs[str], cursor: str | None, reset: str | None, replayed: list[str]
) -> None:
    async with hubs.reader("s", cursor) as reader:
        heard = await take(reader, len(replayed) + (reset is not None))
        source.say(2)
        heard += await take(reader, 2)
    if reset is not None:
        told = heard.pop(0)
        assert (told.event, told.id) == ("reset", "")
        assert orjson.loads(told.data) == {"reason": reset, "oldest_id": "2-21"}
    assert ids(heard) == replayed + NEWS


async def test_pub05_an_empty_hub_delivers_the_first_event_to_a_stale_reader() -> None:
    source = ListSource(generation=1)
    hubs = hubs_of(source)
    async with hubs.reader("s", "7") as reader:
        assert [frame.event for frame in await take(reader, 1)] == ["reset"]
        source.say()
        assert ids(await take(reader, 1)) == ["1-1"]
    await hubs.close()


async def test_pub06_nothing_is_lost_between_replay_and_live(source: ListSource, hubs: Hubs[str]) -> None:
    async with hubs.reader("s", "2-40") as first:
        await take_nothing(first)  # the ring is there, and its oldest is 21
        source.hears = False
        source.say(15)
        async with hubs.reader("s", "2-38") as reader:
            assert ids(await take(reader, 2)) == ["2-39", "2-40"]
            source.listen()
            assert ids(await take(reader, 15)) == [f"2-{n}" for n in range(41, 56)]


async def test_pub06_a_reader_ahead_of_the_ring_but_not_of_the_log_waits_for_it(
    source: ListSource, hubs: Hubs[str]
) -> None:
    async with hubs.reader("s", "2-40") as first:
        await take_nothing(first)
        source.hears = False
        source.say(5)
        async with hubs.reader("s", "2-43") as reader:
            heard = await take(reader, 2)
            source.listen()
            source.say(1)
            heard += await take(reader, 1)
            assert ids(heard) == ["2-44", "2-45", "2-46"]


async def test_pub06_readers_that_drop_and_come_back_have_every_event_once(rounds: int) -> None:
    chance = random.Random(6)
    source = ListSource()
    hubs = hubs_of(source, HubLimits(RingLimits(50, 100_000), ReaderLimits(40, 50_000)), linger=0.01)
    total = 60 * rounds
    reasons: set[str] = set()

    async def read() -> list[str]:
        heard: list[str] = []
        while len(heard) < total:
            try:
                async with hubs.reader("s", heard[-1] if heard else "") as reader:
                    for _ in range(chance.randint(1, 8)):
                        frames = await reader.frames(chance.randint(10, 500))
                        assert all(frame.event == "e" for frame in frames)
                        heard += ids(frames)
                        if len(heard) >= total:
                            break
                        if chance.random() < 0.2:
                            await asyncio.sleep(0)
            except StreamClosed as closed:
                reasons.add(closed.reason)
        return heard

    async def write() -> None:
        for _ in range(total // 10):
            source.say(10)
            for _ in range(chance.randint(1, 4)):
                await asyncio.sleep(0)

    async with asyncio.timeout(60):
        *heard, _ = await asyncio.gather(*(read() for _ in range(5)), write())
    for one in heard:
        assert one == [f"1-{n}" for n in range(1, total + 1)]
    assert reasons <= {"slow"}
    await hubs.close()


async def test_pub16_a_reader_that_does_not_read_is_cut_and_others_are_not(source: ListSource, hubs: Hubs[str]) -> None:
    async with hubs.reader("s", "2-40") as slow, hubs.reader("s", "2-40") as quick:
        await take_nothing(slow)
        cut: list[str] = []
        slow.on_cut = cut.append
        heard: list[str] = []
        for _ in range(30):
            source.say()
            heard += ids(await take(quick, 1))
        assert cut == ["slow"]
        with pytest.raises(StreamClosed, match="slow"):
            await slow.frames()
        assert heard == [f"2-{n}" for n in range(41, 71)]
    async with hubs.reader("s", "2-55") as again:  # with the cursor it has: gapless
        assert ids(await take(again, 15)) == [f"2-{n}" for n in range(56, 71)]


async def test_pub16_a_reader_is_cut_by_bytes_too(source: ListSource, hubs: Hubs[str]) -> None:
    async with hubs.reader("s", "2-40") as slow, hubs.reader("s", "2-40") as quick:
        await take_nothing(slow)
        for _ in range(3):
            source.say(size=20_000)
            await take(quick, 1)
        with pytest.raises(StreamClosed, match="slow"):
            await slow.frames()


async def test_pub16_a_long_backlog_is_no_slowness() -> None:
    source = ListSource(generation=2)
    source.say(40)
    hubs = hubs_of(source)
    async with hubs.reader("s", "2-20") as reader, hubs.reader("s", "2-40") as quick:
        heard = ids(await reader.frames(10))
        for _ in range(5):
            source.say()
            await take(quick, 1)
        while len(heard) < 25:
            heard += ids(await reader.frames(10))
    assert heard == [f"2-{n}" for n in range(21, 46)]
    await hubs.close()


async def test_a_new_generation_closes_readers_who_then_are_told(source: ListSource, hubs: Hubs[str]) -> None:
    async with hubs.reader("s", "2-40") as reader:
        await take_nothing(reader)
        source.begin_anew()
        source.say(3)
        with pytest.raises(StreamClosed, match="generation"):
            await reader.frames()
    async with hubs.reader("s", "2-40") as reader:
        told, *heard = await take(reader, 4)
        assert orjson.loads(told.data)["reason"] == "generation"
        assert ids(heard) == ["3-1", "3-2", "3-3"]


async def test_a_silent_reader_is_woken_with_nothing(source: ListSource) -> None:
    hubs = hubs_of(source)
    ticking = asyncio.create_task(hubs.run())
    async with hubs.reader("s", "2-40") as reader:
        async with asyncio.timeout(5):
            for _ in range(3):
                assert await reader.wire() == b""
        source.say()
        assert ids(await take(reader, 1)) == ["2-41"]
    ticking.cancel()
    await hubs.close()


async def test_pub17_readers_that_vanish_leave_nothing_behind(source: ListSource, rounds: int) -> None:
    hubs = hubs_of(source)
    known: list[weakref.ref[Reader]] = []

    async def vanish(after: int) -> None:
        async with hubs.reader("s", "" if after % 2 else "2-3") as reader:
            known.append(weakref.ref(reader))
            for _ in range(after):
                await reader.frames(1)

    for _ in range(5):
        tasks = [asyncio.create_task(vanish(n % 50)) for n in range(10 * rounds)]
        for _ in range(20):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(5):
        del tasks, task
        while hubs.streams or any(reader() for reader in known):
            await asyncio.sleep(0.01)
            gc.collect()
    assert hubs.readers == 0
    await hubs.close()


async def test_pub25_closing_ends_every_reader_and_refuses_later_ones(source: ListSource) -> None:
    hubs = hubs_of(source)
    async with hubs.reader("s", "2-40") as waiting, hubs.reader("s", "2-40") as busy:
        await take_nothing(waiting)
        await take_nothing(busy)
        told: list[str] = []
        busy.on_cut = told.append
        reading = asyncio.create_task(waiting.frames())
        await asyncio.sleep(0)
        await hubs.close("drain")
        with pytest.raises(StreamClosed, match="drain"):
            await reading
        assert told == ["drain"]
    async with hubs.reader("s", "") as late:
        with pytest.raises(StreamClosed, match="drain"):
            await late.frames()
    await hubs.close("drain")


async def test_readers_that_are_level_share_one_encoding(source: ListSource) -> None:
    hubs = Hubs[str](lambda _: source, sse, SMALL, linger=0)
    async with hubs.reader("s", "2-40") as one, hubs.reader("s", "2-40") as two:
        for reader in (one, two):
            await take_nothing(reader)
        source.say(3)
        first, second = await asyncio.gather(one.wire(), two.wire())
        assert first.startswith(b"id: 2-41\nevent: e\ndata: {")
        assert first is second
    await hubs.close()


async def take_nothing(reader: Reader) -> None:
    """The answer of a reader that has just come level."""
    assert await reader.frames() == []


async def test_a_replay_is_closed_when_its_reader_leaves(source: ListSource, hubs: Hubs[str]) -> None:
    async with hubs.reader("s", "2-3") as reader:
        await reader.frames()
    async with aclosing(source.replay("2-3")) as rest:
        assert (await anext(rest)).frames[0].event == "reset"
    assert source.replays == 2
