"""A threads service built by its own composition root, on real Postgres and NATS, spoken to over real channels."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from services.kernel.grpc_client import open_channel
from services.kernel.lifecycle import Lifecycle
from services.kernel.settings import load
from services.threads.main import build
from services.threads.settings import ThreadsSettings
from tests.conftest import MakeDatabase
from tests.integration.threads.client import Client

StartThreads = Callable[..., Awaitable[Client]]


@pytest.fixture(scope="session", autouse=True)
async def _servers_end_with_their_loop() -> AsyncIterator[None]:
    """grpc.aio's servers schedule a shutdown when they are collected: that must happen while the loop still runs."""
    yield
    gc.collect()
    await asyncio.sleep(0)


@pytest.fixture
async def database_url(make_database: MakeDatabase) -> str:
    """This test's own database."""
    return await make_database("threads")


@pytest.fixture
async def start_threads(database_url: str, nats_url: str) -> AsyncIterator[StartThreads]:
    """`await start_threads()`: one more replica on this test's database and NATS, and a client of it."""
    async with AsyncExitStack() as stack:

        async def start(**overrides: object) -> Client:
            given = {
                "listen": "127.0.0.1:0",
                "threads_database_url": database_url,
                "nats_url": nats_url,
                "sweep_seconds": 0.1,
                "drain_seconds": 4,
                "inference_backoff_seconds": (0.05,),
                **overrides,
            }
            settings = load(ThreadsSettings, **given)
            life = await stack.enter_async_context(Lifecycle("threads", settings.drain_seconds))
            bound = await build(settings, life)
            channel = open_channel(bound.address)
            stack.push_async_callback(channel.close)
            return Client(channel, life, bound.address)

        yield start


@pytest.fixture
async def threads(start_threads: StartThreads) -> Client:
    """One replica."""
    return await start_threads()
