"""Replicas of the planning service on the test's own database and nats-server, and a fake half of streaming."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple

import grpc
import pytest

from services.kernel.bus import Bus
from services.kernel.lifecycle import Lifecycle
from services.kernel.postgres import Database
from services.kernel.settings import load
from services.planning.adapters.wake import Wake
from services.planning.adapters.work import PostgresWorkshop
from services.planning.main import build
from services.planning.settings import PlanningSettings
from tests.conftest import MakeDatabase
from tests.fakes.fork_service import FakeForks, serving_forks
from tests.fakes.turn_service import FakeTurns
from tests.integration.planning.client import SECRET, Planning

StartReplica = Callable[[], Awaitable[Planning]]


class Forks(NamedTuple):
    """A fake streaming service and where it listens."""

    fake: FakeForks
    address: str
    turns: FakeTurns


@pytest.fixture
async def database_url(make_database: MakeDatabase) -> str:
    """A fresh database of the planning service."""
    return await make_database("planning")


@pytest.fixture
def workshop(database: Database, bus: Bus) -> PostgresWorkshop:
    """Where a test works on rows as the use cases do."""
    return PostgresWorkshop(database, Wake(bus))


@pytest.fixture
async def forks(stack: AsyncExitStack) -> Forks:
    """Streaming's half of branches, behind real gRPC."""
    fake, turns = FakeForks(), FakeTurns()  # type: ignore[abstract]
    return Forks(fake, await stack.enter_async_context(serving_forks(fake, SECRET, turns=turns)), turns)


@pytest.fixture
def start_replica(database_url: str, nats_url: str, forks: Forks, stack: AsyncExitStack) -> StartReplica:
    """Starts one more replica in this process, with its own pool, and answers a client of it."""

    async def start() -> Planning:
        settings = load(
            PlanningSettings,
            listen="127.0.0.1:0",
            planning_database_url=database_url,
            nats_url=nats_url,
            streaming_target=forks.address,
            auth_secret=SECRET,
            drain_seconds=5,
        )
        life = await stack.enter_async_context(Lifecycle("planning", settings.drain_seconds))
        bound = await build(settings, life)
        channel = grpc.aio.insecure_channel(bound.address)
        stack.push_async_callback(channel.close)
        return Planning(channel, life)

    return start


@pytest.fixture
async def planning(start_replica: StartReplica) -> Planning:
    """One replica."""
    return await start_replica()


@pytest.fixture
async def chat(planning: Planning) -> str:
    """A session with a workspace and no turn."""
    return await planning.open()
