"""Replicas of the streaming service on the test's own database and nats-server, spoken to over real channels."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import grpc
import pytest

from services.kernel.lifecycle import Lifecycle
from services.kernel.settings import load
from services.streaming.main import build
from services.streaming.settings import StreamingSettings
from tests.conftest import MakeDatabase
from tests.integration.streaming.client import Streaming

StartReplica = Callable[[], Awaitable[Streaming]]


@pytest.fixture
async def database_url(make_database: MakeDatabase) -> str:
    """A fresh database of the streaming service."""
    return await make_database("streaming")


@pytest.fixture
def start_replica(database_url: str, nats_url: str, stack: AsyncExitStack) -> StartReplica:
    """Starts one more replica in this process and answers a client of it."""

    async def start() -> Streaming:
        settings = load(
            StreamingSettings,
            listen="127.0.0.1:0",
            planning_target="none",
            streaming_database_url=database_url,
            nats_url=nats_url,
            drain_seconds=5,
        )
        return await _replica(settings, stack)

    return start


@pytest.fixture
def start_impatient(database_url: str, nats_url: str, stack: AsyncExitStack) -> StartReplica:
    """As start_replica; a silent runner is lost after one second, a session that nobody claims has failed after two."""

    async def start() -> Streaming:
        settings = load(
            StreamingSettings,
            listen="127.0.0.1:0",
            planning_target="none",
            streaming_database_url=database_url,
            nats_url=nats_url,
            drain_seconds=5,
            session_lease_seconds=1,
            unclaimed_seconds=2,
        )
        return await _replica(settings, stack)

    return start


async def _replica(settings: StreamingSettings, stack: AsyncExitStack) -> Streaming:
    life = await stack.enter_async_context(Lifecycle("streaming", settings.drain_seconds))
    bound = await build(settings, life)
    channel = grpc.aio.insecure_channel(bound.address)
    stack.push_async_callback(channel.close)
    return Streaming(channel, life, settings.streaming_database_url)


@pytest.fixture
async def streaming(start_replica: StartReplica) -> Streaming:
    """One replica."""
    return await start_replica()
