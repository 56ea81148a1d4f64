"""The coordination service's parts on the test's own database and nats-server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from services.coordination.adapters.reads import PostgresReads
from services.coordination.adapters.wake import Wake
from services.coordination.adapters.work import PostgresWorkshop
from services.kernel.bus import Bus
from services.kernel.postgres import Database
from tests.conftest import MakeDatabase


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Closed at the end of the test, in reverse."""
    async with AsyncExitStack() as one:
        yield one


@pytest.fixture
async def database_url(make_database: MakeDatabase) -> str:
    """A fresh database of the coordination service."""
    return await make_database("coordination")


@pytest.fixture
async def database(database_url: str, stack: AsyncExitStack) -> Database:
    """A pool on it, for what a test looks up or writes behind the service's back."""
    database = await Database.open(database_url, "test")
    stack.push_async_callback(database.close)
    return database


@pytest.fixture
async def bus(nats_url: str, stack: AsyncExitStack) -> Bus:
    """The test's own connection."""
    bus = await Bus.connect(nats_url, "test")
    stack.push_async_callback(bus.close)
    return bus


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
