"""Spawns on two processes of the service: PUB09 between them, and PUB08 over kill -9 of one."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest

from services.kernel.postgres import Database
from tests.integration.coordination.client import SECRET, Coordination, spec
from tests.integration.coordination.conftest import Served
from tests.ports import free_port
from tests.stack import Process

pytestmark = pytest.mark.timeout(600)


class Two(NamedTuple):
    """Clients of two processes, and the second process."""

    one: Coordination
    other: Coordination
    process: Process


@pytest.fixture
async def two(tmp_path: Path, database_url: str, nats_url: str, sessions: Served, stack: AsyncExitStack) -> Two:
    """Two processes of the service on one database."""
    clients, processes = [], []
    for number in range(2):
        address = f"127.0.0.1:{free_port()}"
        told = {
            "TREADLE_LISTEN": address,
            "TREADLE_COORDINATION_DATABASE_URL": database_url,
            "TREADLE_NATS_URL": nats_url,
            "TREADLE_STREAMING_TARGET": sessions.address,
            "TREADLE_AUTH_SECRET": SECRET,
        }
        process = Process("coordination", ["-m", "services.coordination"], told, tmp_path / f"{number}.log")
        await process.start()
        stack.push_async_callback(process.end)
        channel = grpc.aio.insecure_channel(address, options=[("grpc.max_reconnect_backoff_ms", 200)])
        stack.push_async_callback(channel.close)
        clients.append(Coordination(channel))
        processes.append(process)
    for client, process in zip(clients, processes, strict=True):
        await up(client, process)
    return Two(clients[0], clients[1], processes[1])


async def up(client: Coordination, process: Process) -> None:
    """Until it takes calls."""
    async with asyncio.timeout(60):
        while client.channel.get_state(try_to_connect=True) is not grpc.ChannelConnectivity.READY:
            assert process.running, process.tail()
            await asyncio.sleep(0.02)


async def test_pub09_one_name_on_two_processes(two: Two, sessions: Served, rounds: int) -> None:
    for number in range(rounds):
        session = sessions.fake.open().id
        await two.one.flag(session)
        first, second = await asyncio.gather(
            two.one.spawn(session, spec("alpha", "of one")), two.other.spawn(session, spec("alpha", "of the other"))
        )
        assert sorted([first[0].code, second[0].code]) == ["", "name_taken"], number
        worker = await two.one.worker(session, "alpha")
        assert worker.brief == ("of one" if first[0].ok else "of the other")
        assert worker.id == (first[0].subagent_id or second[0].subagent_id)


async def test_pub08_spawns_over_kill_9_are_whole_or_not_there_and_a_retry_makes_each_once(
    two: Two, sessions: Served, database: Database
) -> None:
    session = sessions.fake.open().id
    await two.one.flag(session)
    batches = [[spec(f"w{batch}-{item}") for item in range(3)] for batch in range(10)]

    async def ask(batch: int) -> None:
        try:
            await two.other.spawn(session, *batches[batch], request_id=f"k{batch}")
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise

    for start in range(0, 10, 2):
        calls = [asyncio.create_task(ask(batch)) for batch in (start, start + 1)]
        await asyncio.sleep(0.002 * start)
        await two.process.kill()
        await asyncio.gather(*calls)
        for batch in (start, start + 1):
            answer = await two.one.spawn(session, *batches[batch], request_id=f"k{batch}")
            assert all(one.ok for one in answer), answer
        await two.process.start()
        await up(two.other, two.process)
    listed = (await two.other.workers(session)).threads
    assert sorted(one.name for one in listed) == sorted(one.name for batch in batches for one in batch)
    async with database.connection() as tx:
        jobs = await tx.raw.fetch("SELECT subject FROM jobs WHERE state = 'queued'")
    assert sorted(row["subject"] for row in jobs) == sorted(one.id for one in listed)
