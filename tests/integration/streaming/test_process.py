"""The service as processes of its own: stopped by SIGTERM, killed, started again (PUB25, I10)."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import grpc
import pytest

from tests.integration.streaming.client import Streaming, body, tool
from tests.integration.streaming.stubborn import StubbornRunner
from tests.ports import free_port
from tests.stack import Process

Launch = Callable[[], Awaitable[tuple[Process, Streaming]]]


@pytest.fixture
async def launch(database_url: str, nats_url: str, tmp_path: Path, stack: AsyncExitStack) -> AsyncIterator[Launch]:
    """Starts a replica in a process of its own and answers it and a client of it."""
    processes: list[Process] = []

    async def start() -> tuple[Process, Streaming]:
        address = f"127.0.0.1:{free_port()}"
        process = Process(
            "streaming",
            ["-m", "services.streaming"],
            {
                "TREADLE_LISTEN": address,
                "TREADLE_STREAMING_DATABASE_URL": database_url,
                "TREADLE_NATS_URL": nats_url,
                "TREADLE_DRAIN_SECONDS": "5",
                "TREADLE_PLANNING_TARGET": "none",
            },
            tmp_path / f"streaming-{len(processes)}.log",
        )
        processes.append(process)
        await process.start()
        channel = grpc.aio.insecure_channel(
            address, options=[("grpc.min_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)]
        )
        stack.push_async_callback(channel.close)
        async with asyncio.timeout(30):
            await channel.channel_ready()
        return process, Streaming(channel, database_url=database_url)

    yield start
    for process in processes:
        if process.running:
            with suppress(ProcessLookupError):
                await process.end()


async def test_pub25_sigterm_ends_streams_within_two_seconds_and_the_process_with_0(launch: Launch) -> None:
    process, streaming = await launch()
    name = await streaming.session()
    async with (
        AsyncExitStack() as readers,
        streaming.attached(name) as runner,
    ):
        listeners = [await readers.enter_async_context(streaming.listening(name)) for _ in range(10)]
        listeners += [await readers.enter_async_context(streaming.of_tenant()) for _ in range(10)]
        for listener in listeners:
            await listener.level()
        await runner.send(tool(1, "c1"))
        await runner.stored(1)
        begin = time.monotonic()
        ending = asyncio.create_task(process.end(signal.SIGTERM, 10))
        for listener in listeners:
            async with asyncio.timeout(5):
                await listener.ended.wait()
            assert listener.error is not None
            assert listener.error.code() is grpc.StatusCode.UNAVAILABLE
        assert time.monotonic() - begin < 2
        assert await ending == 0
        assert time.monotonic() - begin < 5
        last = listeners[0].ids[-1]
        epoch = runner.epoch
    _, again = await launch()
    async with again.listening(name, last) as resumed, again.attached(name, epoch) as runner:
        assert runner.acked == 1
        await runner.send(tool(2, "c2"))
        frames = await resumed.heard(1)
        assert body(frames[-1])["call_id"] == "c2"


async def test_kills_of_replicas_lose_and_double_nothing(launch: Launch, rounds: int) -> None:
    chance = random.Random(10)
    running = [await launch(), await launch()]
    name = await running[0][1].session()
    runner = StubbornRunner([client for _, client in running], name, 2_000, chance)
    work = asyncio.create_task(runner.run())
    for _ in range(max(2, rounds // 7)):
        await asyncio.sleep(0.1 + chance.random() * 0.3)
        victim = chance.randrange(2)
        await running[victim][0].kill()
        running[victim] = await launch()
        runner.replicas[victim] = running[victim][1]
    async with asyncio.timeout(60):
        await work
    for _, client in running:
        async with client.listening(name) as reader:
            await reader.until(lambda one: sum(f.event == "tool" for f in one.frames) >= 2_000, 30)
        calls = [body(frame)["call_id"] for frame in reader.frames if frame.event == "tool"]
        assert calls == [f"c{n}" for n in range(1, 2_001)]
        assert reader.ids == [f"1-{n}" for n in range(1, len(reader.ids) + 1)]


async def test_without_a_word_about_planning_no_replica_starts_and_databases_are_migrated_all_the_same(
    database_url: str, nats_url: str, tmp_path: Path
) -> None:
    told = {
        "TREADLE_LISTEN": f"127.0.0.1:{free_port()}",
        "TREADLE_STREAMING_DATABASE_URL": database_url,
        "TREADLE_NATS_URL": nats_url,
    }

    async def run(*arguments: str) -> tuple[int, str]:
        process = Process("treadle", ["-m", *arguments], told, tmp_path / "refused.log")
        await process.start()
        async with asyncio.timeout(60):
            while process.running:
                await asyncio.sleep(0.02)
        return await process.end(), process.tail()

    for way in (("services.streaming",), ("services.cli.main", "serve", "streaming")):
        code, said = await run(*way)
        assert (code, "TREADLE_PLANNING_TARGET" in said, "Traceback" in said) == (2, True, False), said
    code, said = await run("services.cli.main", "migrate", "streaming")
    assert code == 0, said
