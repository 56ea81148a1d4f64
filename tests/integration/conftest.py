"""What tests of one service share: its database seen from outside, and a bus. `database_url` is each service's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from services.kernel.bus import Bus
from services.kernel.postgres import Database


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Closed at the end of the test, in reverse."""
    async with AsyncExitStack() as one:
        yield one


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
