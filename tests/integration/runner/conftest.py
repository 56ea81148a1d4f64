"""A runner built by its own composition root, against a fake threads service over real gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from services.kernel.lifecycle import Lifecycle
from services.kernel.settings import load
from services.runner.main import build
from services.runner.settings import RunnerSettings
from tests.fakes.job_service import FakeJobService, FakeThreads

LEASE = 2.0
"""Seconds; heartbeats come every third of it. Long enough for a machine that does other work as well."""


@pytest.fixture
async def jobs() -> FakeJobService:
    return FakeJobService(LEASE)


@pytest.fixture
async def threads(jobs: FakeJobService) -> AsyncIterator[FakeThreads]:
    threads = FakeThreads(jobs)
    await threads.start()
    yield threads
    await threads.stop()


@pytest.fixture
def settings(threads: FakeThreads, tmp_path: Path) -> RunnerSettings:
    return load(
        RunnerSettings,
        threads_target=threads.address,
        streaming_target="",
        home=tmp_path,
        runner_wait_seconds=5,
        heartbeat_seconds=LEASE / 3,
        lease_seconds=LEASE,
        drain_seconds=2,
        shell=True,
    )


StartRunner = Callable[[RunnerSettings], Awaitable[Lifecycle]]


@pytest.fixture
async def start_runner() -> AsyncIterator[StartRunner]:
    """`await start_runner(settings)`: a running runner; leaving its Lifecycle drains it."""
    async with AsyncExitStack() as stack:

        async def start(settings: RunnerSettings) -> Lifecycle:
            life = await stack.enter_async_context(Lifecycle("runner", settings.drain_seconds))
            await build(settings, life)
            return life

        yield start
        async with asyncio.timeout(60):
            await stack.aclose()
