"""What tests stand on: one real Postgres a test process, a fresh database and a fresh nats-server a test."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest
from hypothesis import HealthCheck, settings

from services.engines import Engines, EngineSettings, discard, engines
from services.kernel.migrations import migrate
from tests.nats_server import NatsServer

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts its background jobs deaf to Ctrl-C, and what we start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is slow, not wrong: no example is timed. What fails says how to run it again.
settings.register_profile("house", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

SERVICES = ("threads", "coordination", "planning", "streaming")
_SHARED_MEMORY = Path("/dev/shm")
_MEMORY_LEAST = 4 * 1024**3
_HOME_PREFIX = "treadle-test-"
MakeDatabase = Callable[[str], Awaitable[str]]


@pytest.fixture(scope="session")
def rounds() -> int:
    """How often a race or a kill is tried: TREADLE_ROUNDS (`make test` 20, `make test-all` 200)."""
    return int(os.environ.get("TREADLE_ROUNDS", "20"))


@pytest.fixture(scope="session")
async def servers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engines]:
    """The real engines of this test process. Data is thrown away, so fsync is off."""
    home = _in_memory() or tmp_path_factory.mktemp("engines")
    async with engines(home, EngineSettings(fsync=False)) as running:
        yield running
    discard(home)  # as root its data lies outside of pytest's own folder, which pytest would clear up
    shutil.rmtree(home, ignore_errors=True)


def _in_memory() -> Path | None:
    """A folder in memory, where there is plenty of it. Each test has a database of its own, some 300 files that are
    gone a moment later: on a disk, ext4 alone was seen to take half of the processors for that."""
    if not _SHARED_MEMORY.is_dir() or shutil.disk_usage(_SHARED_MEMORY).free < _MEMORY_LEAST:
        return None
    for left in _SHARED_MEMORY.glob(f"{_HOME_PREFIX}*"):  # by a test process that was killed
        if time.time() - left.stat().st_mtime > 24 * 3600:
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_HOME_PREFIX, dir=_SHARED_MEMORY))


@dataclass
class _Templates:
    """One migrated database a service, from which each test's own is copied (about 40 ms)."""

    servers: Engines
    made: set[str]

    async def copy(self, service: str) -> str:
        name = f"{service}_{secrets.token_hex(6)}"
        admin = await asyncpg.connect(self.servers.admin_url())
        try:
            if service not in self.made:
                await migrate(self.servers.database_url(service), f"services.{service}.migrations")
                self.made.add(service)
            await admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{service}" OWNER treadle')
        finally:
            await admin.close()
        return name

    async def drop(self, name: str) -> None:
        admin = await asyncpg.connect(self.servers.admin_url())
        try:
            await admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        finally:
            await admin.close()


@pytest.fixture(scope="session")
def _templates(servers: Engines) -> _Templates:
    return _Templates(servers, set())


@pytest.fixture
async def make_database(_templates: _Templates) -> AsyncIterator[MakeDatabase]:
    """`await make_database("threads")` answers the URL of a fresh, migrated database of that service."""
    names: list[str] = []

    async def make(service: str) -> str:
        assert service in SERVICES
        name = await _templates.copy(service)
        names.append(name)
        return _templates.servers.database_url(name)

    yield make
    await asyncio.gather(*(_templates.drop(name) for name in names))


@pytest.fixture
async def nats_server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """A fresh nats-server with JetStream on file, which a test may kill and start again on the same port."""
    server = NatsServer(tmp_path / "nats")
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def nats_url(nats_server: NatsServer) -> str:
    """The URL of the test's own nats-server."""
    return nats_server.url


@pytest.fixture(autouse=True)
def _no_settings_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """TREADLE_* of the caller's shell do not reach the code under test (round counts are read above)."""
    for name in list(os.environ):
        if name.startswith("TREADLE_") and name != "TREADLE_ROUNDS":
            monkeypatch.delenv(name)
