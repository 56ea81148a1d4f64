"""Gateways for the tests of this folder: one shared by those that only talk to it, and new ones for the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.fakes.running_gateway import Gateway, Start, gateways


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts gateways with given settings."""
    async with gateways() as begin:
        yield begin


@pytest.fixture(scope="session")
async def shared_gateway() -> AsyncIterator[Gateway]:
    """A gateway with default settings."""
    async with gateways() as begin:
        yield await begin()


@pytest.fixture
async def gateway(shared_gateway: Gateway) -> AsyncIterator[Gateway]:
    """The shared gateway, with nothing left of the test before."""
    yield shared_gateway
    logs = shared_gateway.services.logs
    async with asyncio.timeout(5):
        while any(log.open for log in logs.values()):
            await asyncio.sleep(0.01)
    logs.clear()
    shared_gateway.script.forget()


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """What a test opened is closed with it."""
    async with AsyncExitStack() as opened:
        yield opened
