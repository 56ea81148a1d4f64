"""PUB03 on two server processes that share one database: the last children end together, the parent ends once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest

from services.kernel.grpc_client import open_channel
from services.kernel.lifecycle import Lifecycle
from tests.conftest import MakeDatabase
from tests.integration.threads.client import Client
from tests.integration.threads.family import child, children_of, family, kinds, moves
from tests.integration.threads.test_fan_in import executing, sound
from tests.nats_server import NatsServer
from tests.ports import free_port
from tests.stack import Process

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
Both = tuple[Client, Client, str]


@pytest.fixture
async def both(tmp_path: Path, make_database: MakeDatabase, nats_server: NatsServer) -> AsyncIterator[Both]:
    """Clients of two processes of threads, and their database."""
    url = await make_database("threads")
    async with AsyncExitStack() as stack:
        clients = []
        for number in range(2):
            address = f"127.0.0.1:{free_port()}"
            told = {"TREADLE_LISTEN": address, "TREADLE_THREADS_DATABASE_URL": url, "TREADLE_NATS_URL": nats_server.url}
            arguments = ["-m", "services.cli.main", "serve", "threads"]
            process = Process(f"threads-{number}", arguments, told, tmp_path / f"threads-{number}.log")
            await process.start()
            stack.push_async_callback(process.end)
            channel = open_channel(address)
            stack.push_async_callback(channel.close)
            async with asyncio.timeout(60):
                while channel.get_state(try_to_connect=True) is not grpc.ChannelConnectivity.READY:
                    assert process.running, process.tail()
                    await asyncio.sleep(0.02)
            clients.append(Client(channel, Lifecycle("client", 1.0), address))
        yield clients[0], clients[1], url


async def test_pub03_the_last_children_end_together_on_two_processes(both: Both, rounds: int) -> None:
    one, two, url = both
    for _ in range(rounds):
        umbrella = await family(one, child("a"), child("b"))
        first, second = await executing(one, await children_of(two, umbrella.name))
        await asyncio.gather(
            one.complete(first, {"success": True}),
            two.complete(second, {"success": True}),
            two.complete(first, {"success": True}),  # the same delivery once more
        )
        assert await two.state(umbrella.name) == "done"
        assert (await moves(one, umbrella.name))[1:] == [("execution_done", "done")]
        assert (await kinds(two, umbrella.name)).count("subthread_terminal_reported") == 2
    await sound(url)
