"""The coordination service's parts on the test's own database and nats-server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple

import grpc
import pytest

from services.coordination.adapters.reads import PostgresReads
from services.coordination.adapters.wake import Wake
from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.main import build
from services.coordination.settings import CoordinationSettings
from services.kernel.bus import Bus
from services.kernel.lifecycle import Lifecycle
from services.kernel.postgres import Database
from services.kernel.settings import load
from tests.conftest import MakeDatabase
from tests.fakes.streaming_sessions import FakeSessions, fake_sessions, serving
from tests.integration.coordination.client import SECRET, Coordination
from tests.integration.coordination.parts import Parts

StartReplica = Callable[[], Awaitable[Coordination]]


class Served(NamedTuple):
    """A fake streaming service and where it listens."""

    fake: FakeSessions
    address: str


@pytest.fixture
async def database_url(make_database: MakeDatabase) -> str:
    """A fresh database of the coordination service."""
    return await make_database("coordination")


@pytest.fixture
def wake(bus: Bus) -> Wake:
    """Bells and pings."""
    return Wake(bus)


@pytest.fixture
def workshop(database: Database, wake: Wake) -> PostgresWorkshop:
    """Where a test works on rows as the use cases do."""
    return PostgresWorkshop(database, wake)


@pytest.fixture
def reads(database: Database) -> PostgresReads:
    """What readers see."""
    return PostgresReads(database)


@pytest.fixture
async def sessions(stack: AsyncExitStack) -> Served:
    """A streaming service in memory, behind real gRPC."""
    fake = fake_sessions()
    return Served(fake, await stack.enter_async_context(serving(fake, SECRET)))


@pytest.fixture
async def parts(database: Database, wake: Wake, sessions: Served) -> AsyncIterator[Parts]:
    """What runs workers, put together by hand, with a clock of the test's own."""
    parts = Parts(database, wake, sessions.address)
    yield parts
    await parts.channel.close()


@pytest.fixture
def start_replica(database_url: str, nats_url: str, sessions: Served, stack: AsyncExitStack) -> StartReplica:
    """Starts one more replica in this process, with its own pool, and answers a client of it."""

    async def start() -> Coordination:
        settings = load(
            CoordinationSettings,
            listen="127.0.0.1:0",
            coordination_database_url=database_url,
            nats_url=nats_url,
            streaming_target=sessions.address,
            auth_secret=SECRET,
            worker_adapter="scripted",
            drain_seconds=5,
        )
        life = await stack.enter_async_context(Lifecycle("coordination", settings.drain_seconds))
        bound = await build(settings, life)
        channel = grpc.aio.insecure_channel(bound.address)
        stack.push_async_callback(channel.close)
        return Coordination(channel, life)

    return start


@pytest.fixture
async def coordination(start_replica: StartReplica) -> Coordination:
    """One replica."""
    return await start_replica()


@pytest.fixture
async def chat(coordination: Coordination, sessions: Served) -> str:
    """The session id of a coordinator with a turn under way."""
    session = sessions.fake.open()
    await coordination.flag(session.id)
    return session.id
