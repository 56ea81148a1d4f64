"""Gateways for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.fakes.running_gateway import Gateway, Start, gateways


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts gateways with given settings."""
    async with gateways() as begin:
        yield begin


@pytest.fixture
async def gateway(start: Start) -> Gateway:
    """A gateway with default settings."""
    return await start()


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """What a test opened is closed with it."""
    async with AsyncExitStack() as opened:
        yield opened
