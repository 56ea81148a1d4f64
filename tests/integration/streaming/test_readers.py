"""Readers over gRPC: odd cursors and texts, slow ones, those that vanish, those of a server that stops."""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import AsyncExitStack
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from services.kernel import telemetry
from services.kernel.hub import Reader
from tests.integration.streaming.client import Streaming, body, text, tool
from tests.integration.streaming.conftest import StartReplica
from tests.unit.kernel_streams.test_cursors import MALFORMED
from tests.unit.kernel_streams.test_frames import TEXTS
from treadle.streaming.v1 import feed_service_pb2 as feeds
from treadle.streaming.v1 import session_event_pb2 as events
from treadle.streaming.v1 import session_service_pb2 as sessions


def readers() -> int:
    gc.collect()
    return sum(isinstance(one, Reader) for one in gc.get_objects())


async def gone(seconds: float = 15) -> None:
    async with asyncio.timeout(seconds):
        while readers():
            await asyncio.sleep(0.05)


CURSORS: list[tuple[str, str | None, range]] = [
    ("", None, range(1, 11)),
    *((text, "malformed", range(1, 11)) for text in MALFORMED),
    ("1-11", "ahead", range(1, 11)),
    ("11", "ahead", range(1, 11)),
    ("7-3", "generation", range(1, 11)),
    ("1-4", None, range(5, 11)),
    ("4", None, range(5, 11)),
    ("1-10", None, range(0)),
]


async def test_pub05_every_cursor_is_honoured_or_told_and_hears_the_news_once(streaming: Streaming) -> None:
    name = await streaming.session()
    async with AsyncExitStack() as stack, streaming.attached(name) as runner:
        await runner.send(*(tool(n, f"c{n}") for n in range(1, 9)))
        await runner.stored(8)
        heard = [await stack.enter_async_context(streaming.listening(name, cursor)) for cursor, _, _ in CURSORS]
        for reader in heard:
            await reader.level()
        await runner.send(tool(9, "c9"), tool(10, "c10"))
        for reader, (cursor, reset, replayed) in zip(heard, CURSORS, strict=True):
            await reader.until(lambda one: "1-12" in one.ids)
            frames = list(reader.frames)
            if reset is not None:
                told = frames.pop(0)
                assert (told.event, told.id) == ("reset", ""), cursor
                assert body(told) == {"reason": reset, "oldest_id": "1-1"}, cursor
            assert [frame.id for frame in frames] == [f"1-{n}" for n in replayed] + ["1-11", "1-12"], cursor


async def test_pub15_any_text_comes_back_as_it_was_said(streaming: Streaming) -> None:
    name = await streaming.session()
    said = [*TEXTS, ""]
    async with streaming.listening(name) as reader, streaming.attached(name) as runner:
        for n, one in enumerate(said, 1):  # one block each: nothing is joined
            await runner.send(text(n, one, block=n))
        await runner.stored(len(said))
        blocks: dict[int, str] = {}
        await reader.until(
            lambda one: one.frames[-1].id == one.ids[-1] and body(one.frames[-1]).get("block") == len(said)
        )
    for frame in reader.frames[2:]:
        assert len(frame.data) <= 64 * 1024
        assert len(frame.data.decode().splitlines()) == 1
        blocks[body(frame)["block"]] = blocks.get(body(frame)["block"], "") + body(frame)["delta"]
    assert [blocks[n] for n in range(1, len(said) + 1)] == said
    assert reader.ids == [f"1-{n}" for n in range(1, len(reader.ids) + 1)]


async def test_pub22_what_no_wire_can_carry_is_replaced_and_the_stream_goes_on(streaming: Streaming) -> None:
    name = await streaming.session()
    async with streaming.listening(name) as reader, streaming.attached(name) as runner:
        await runner.send(
            text(1, "a\0b"), tool(2, "c\0", "na\0me", "running"), tool(3, "x y", "t", "no such"), text(4, "z", 1)
        )
        await runner.stored(4)
        frames = (await reader.heard(5))[2:]
    assert body(frames[0]) == {"delta": "a\ufffdb", "block": 0}
    assert body(frames[1])["name"] == "tool"
    assert body(frames[1])["call_id"].startswith("call-")
    assert body(frames[2]) == {"delta": "z", "block": 1}


async def test_what_an_agent_may_not_say_ends_its_attach(streaming: Streaming) -> None:
    name = await streaming.session()
    for said in (
        events.SessionEvent(turn=events.Turn(state="idle")),
        events.SessionEvent(gate=events.Gate(gate_id="g")),
        events.SessionEvent(prompt=events.Prompt(text="do")),
        events.SessionEvent(),
    ):
        async with streaming.attached(name) as runner:
            event = tool(1, "c1")
            event.event.CopyFrom(said)
            await runner.send(event)
            refused = await runner.end()
            assert refused.code() is grpc.StatusCode.INVALID_ARGUMENT
    async with streaming.listening(name) as reader:
        assert len(await reader.level()) == 2


async def test_pub16_a_reader_that_stops_reading_is_cut_and_can_come_back(streaming: Streaming) -> None:
    name = await streaming.session()
    total, pad = 6_000, "x" * 2_000
    stalled = streaming.feeds.SubscribeSession(feeds.SubscribeSessionRequest(name=name))
    await stalled.read()  # it is attached, and reads no more
    async with streaming.listening(name) as quick, streaming.attached(name) as runner:
        said = [text(n, pad, block=n) for n in range(1, total + 1)]
        await runner.send(*said)
        await runner.stored(total, seconds=60)
        await quick.heard(total + 2, seconds=30)
        assert quick.ids == [f"1-{n}" for n in range(1, total + 3)]
        async with asyncio.timeout(10):
            while readers() > 1:
                await asyncio.sleep(0.05)
    heard: list[str] = []
    with pytest.raises(grpc.aio.AioRpcError) as cut:
        async with asyncio.timeout(20):
            while True:
                batch = await stalled.read()
                assert isinstance(batch, feeds.FrameBatch)
                heard += [frame.id for frame in batch.frames]
    assert cut.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert heard == [f"1-{n}" for n in range(int(heard[0][2:]), len(heard) + int(heard[0][2:]))]
    async with streaming.listening(name, heard[-1]) as again:
        rest = await again.until(lambda one: one.ids[-1:] == [f"1-{total + 2}"])
        if rest.frames[0].event == "reset":  # the log keeps 5,000: what is missing is told
            assert body(rest.frames[0])["reason"] == "gap"
        else:
            assert rest.ids[0] == f"1-{int(heard[-1][2:]) + 1}"


async def test_pub17_readers_that_vanish_hold_nothing(streaming: Streaming, rounds: int) -> None:
    name = await streaming.session()
    stop = asyncio.Event()

    async def ask() -> None:
        while not stop.is_set():
            await streaming.sessions.GetSession(sessions.GetSessionRequest(name=name), timeout=30)
            await asyncio.sleep(0.05)

    async def vanish(after: int) -> None:
        call = streaming.feeds.SubscribeSession(feeds.SubscribeSessionRequest(name=name))
        for _ in range(after):
            await call.read()
        call.cancel()

    asking = asyncio.create_task(ask())
    idle = [streaming.feeds.SubscribeTenant(feeds.SubscribeTenantRequest()) for _ in range(60)]
    for call in idle:
        await call.read()
    for _ in range(max(1, rounds // 10)):
        await asyncio.gather(*(vanish(n % 2) for n in range(200)))
    for call in idle:
        call.cancel()
    await gone()
    stop.set()
    await asking
    open_rpcs = telemetry.RPC_OPEN.labels("treadle.streaming.v1.FeedService", "SubscribeSession")
    assert open_rpcs._value.get() == 0


async def test_pub25_a_drain_ends_streams_at_once_and_they_go_on_elsewhere(start_replica: StartReplica) -> None:
    first, second = await start_replica(), await start_replica()
    name = await first.session()
    health = health_pb2_grpc.HealthStub(first.channel)
    watch = health.Watch(health_pb2.HealthCheckRequest(service="treadle.streaming.v1.FeedService"))
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
    calls: list[Any] = [first.feeds.SubscribeSession(feeds.SubscribeSessionRequest(name=name)) for _ in range(10)]
    calls += [first.feeds.SubscribeTenant(feeds.SubscribeTenantRequest()) for _ in range(10)]
    async with first.attached(name) as runner:
        await runner.send(tool(1, "c1"))
        await runner.stored(1)
        for call in calls:
            await call.read()
        assert first.life is not None
        begin = time.monotonic()
        draining = asyncio.create_task(first.life.drain())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError) as ended:
                while await call.read() is not grpc.aio.EOF:
                    pass
            assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        assert (await runner.end()).code() is grpc.StatusCode.UNAVAILABLE
        assert time.monotonic() - begin < 2
        await draining
        epoch = runner.epoch
    watch.cancel()
    async with second.attached(name, epoch) as runner, second.listening(name, "1-2") as reader:
        assert runner.acked == 1
        await runner.send(tool(2, "c2"))
        await reader.heard(2)
        assert [body(frame)["call_id"] for frame in reader.frames] == ["c1", "c2"]
