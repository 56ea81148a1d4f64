"""A session's log over kills of NATS, of Attaches and of replicas: every event once, in order, dense (S.1, PUB06)."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack, suppress

import grpc

from services.kernel import jetstream, streams
from services.kernel.bus import Bus
from services.kernel.postgres import Database
from services.streaming.adapters.postgres import say
from services.streaming.application.ports import SessionKey
from tests.integration.streaming.client import Listener, Streaming, body, tool
from tests.integration.streaming.conftest import StartReplica
from tests.integration.streaming.stubborn import StubbornRunner
from tests.nats_server import NatsServer


def check(reader: Listener, total: int) -> None:
    """Every tool event once and in order; ids dense in their generation."""
    assert [body(f)["call_id"] for f in reader.frames if f.event == "tool"] == [f"c{n}" for n in range(1, total + 1)]
    assert reader.ids == [f"1-{n}" for n in range(1, len(reader.ids) + 1)]


async def read_whole(streaming: Streaming, name: str, total: int) -> Listener:
    async with streaming.listening(name) as reader:
        await reader.until(lambda one: sum(f.event == "tool" for f in one.frames) >= total, 30)
        return reader


async def test_events_of_a_stubborn_runner_are_stored_once_over_kills_of_nats(
    start_replica: StartReplica, nats_server: NatsServer, rounds: int
) -> None:
    chance = random.Random(1)
    replicas = [await start_replica(), await start_replica()]
    name = await replicas[0].session()
    runner = StubbornRunner(replicas, name, min(150 * rounds, 4_500), chance)  # the log keeps 5,000
    async with replicas[1].listening(name) as live:
        running = asyncio.create_task(runner.run())
        kills = 0
        while not running.done() and kills < max(3, rounds // 4):
            await asyncio.sleep(0.05 + chance.random() * 0.4)
            await nats_server.kill()
            kills += 1
            await nats_server.start()
        async with asyncio.timeout(100):
            await running
        await live.until(lambda one: sum(f.event == "tool" for f in one.frames) >= runner.total, 30)
        check(live, runner.total)
    for replica in replicas:
        check(await read_whole(replica, name, runner.total), runner.total)


async def test_two_attaches_at_once_one_is_fenced_and_nothing_is_doubled(start_replica: StartReplica) -> None:
    chance = random.Random(3)
    replicas = [await start_replica(), await start_replica()]
    for _ in range(5):
        name = await replicas[0].session()
        first = StubbornRunner([replicas[0]], name, 400, chance)
        running = asyncio.create_task(first.run())
        await asyncio.sleep(chance.random() * 0.05)
        second = StubbornRunner([replicas[1]], name, 400, chance)
        async with asyncio.timeout(60):
            # The same numbering: the second goes on where the first is.
            while not first.epoch:
                await asyncio.sleep(0.005)
            second.epoch = first.epoch
            await asyncio.gather(running, second.run())
        check(await read_whole(replicas[0], name, 400), 400)


async def test_pub06_state_events_of_many_writers_reach_every_reader_once(
    start_replica: StartReplica, database: Database, rounds: int
) -> None:
    chance = random.Random(6)
    replicas = [await start_replica(), await start_replica()]
    name = await replicas[0].session()
    key = SessionKey("default", name.removeprefix("sessions/"))
    each = max(4, rounds)

    async def write(writer: int) -> None:
        for n in range(each):
            async with database.transaction() as tx:
                await say(tx, key, "prompt", {"text": f"{writer}.{n}"})
            await asyncio.sleep(chance.random() * 0.01)

    async def read() -> list[str]:
        heard: list[str] = []
        prompts: list[str] = []
        while len(prompts) < 50 * each:
            async with chance.choice(replicas).listening(name, heard[-1] if heard else "") as reader:
                wanted = chance.randint(1, 200)
                with suppress(AssertionError):
                    await reader.heard(wanted, seconds=0.5)
                taken = list(reader.frames)
            assert all(frame.event != "reset" for frame in taken)
            heard += [frame.id for frame in taken]
            prompts += [body(frame)["text"] for frame in taken if frame.event == "prompt"]
        assert heard == [f"1-{n}" for n in range(1, len(heard) + 1)]
        return prompts

    async with asyncio.timeout(90):
        writing = asyncio.gather(*(write(n) for n in range(50)))
        heard = await asyncio.gather(*(read() for _ in range(3)))
        await writing
    assert heard[0] == heard[1] == heard[2]
    assert len(set(heard[0])) == len(heard[0]) == 50 * each
    for writer in range(50):  # each writer's own order is kept
        mine = [text for text in heard[0] if text.startswith(f"{writer}.")]
        assert mine == [f"{writer}.{n}" for n in range(each)]


async def test_a_lost_log_begins_a_new_generation_and_readers_are_told(streaming: Streaming, bus: Bus) -> None:
    name = await streaming.session()
    async with streaming.listening(name) as reader, streaming.attached(name) as runner:
        await runner.send(*(tool(n, f"c{n}") for n in range(1, 11)))
        await runner.stored(10)
        last = (await reader.heard(12))[-1].id
        await jetstream.api(bus, "STREAM.DELETE.SESSIONS")
        await runner.send(tool(11, "c11"))
        fenced = await runner.end()
        assert fenced.code() is grpc.StatusCode.UNAVAILABLE  # it still holds the session, and is to attach again
        epoch = runner.epoch
    async with streaming.attached(name, epoch) as again:
        assert again.generation == 2
        await again.send(tool(11, "c11"))
        await again.stored(11)
    async with streaming.listening(name, last) as told:
        reset, *rest = await told.heard(3)
        assert body(reset)["reason"] == "generation"
        assert [frame.id for frame in rest] == ["2-1", "2-2"]


async def test_a_log_over_its_limit_is_a_told_gap(streaming: Streaming, start_replica: StartReplica) -> None:
    name = await streaming.session()
    total = streams.KEPT_PER_SESSION + 500
    async with streaming.attached(name) as runner:
        await runner.send(*(tool(n, f"c{n}") for n in range(1, total + 1)))
        await runner.stored(total, seconds=60)
    other = await start_replica()
    newest, oldest = total + 2, total + 2 - streams.KEPT_PER_SESSION + 1
    async with (
        other.listening(name, f"1-{oldest - 2}") as late,
        other.listening(name, f"1-{oldest - 1}") as exact,
        other.listening(name, f"1-{newest}") as level,
    ):
        reset = (await late.heard(streams.KEPT_PER_SESSION + 1))[0]
        assert body(reset) == {"reason": "gap", "oldest_id": f"1-{oldest}"}
        assert late.ids == [f"1-{n}" for n in range(oldest, newest + 1)]
        await exact.heard(streams.KEPT_PER_SESSION)
        assert exact.ids == late.ids
        assert await level.level() == []


async def test_a_replica_that_is_gone_is_taken_over(start_replica: StartReplica, stack: AsyncExitStack) -> None:
    first, second = await start_replica(), await start_replica()
    name = await first.session()
    chance = random.Random(9)
    runner = StubbornRunner([first, second], name, 1_000, chance)
    async with second.listening(name) as reader:
        running = asyncio.create_task(runner.run())
        await asyncio.sleep(0.15)
        assert first.life is not None
        await first.life.drain()
        runner.replicas = [second]
        async with asyncio.timeout(60):
            await running
        await reader.until(lambda one: sum(f.event == "tool" for f in one.frames) >= 1_000)
        check(reader, 1_000)
