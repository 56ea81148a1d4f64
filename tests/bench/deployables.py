"""Deployables alone in their processes, as few of them as a row needs; with `profile`, under cProfile."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.bench.http_connection import UnexpectedAnswer, open_connection
from tests.ports import free_port
from tests.stack import Process

_START_SECONDS = 60
_SERVE = ("-m", "services.cli.main", "serve")


class DeployableEnded(Exception):
    """A deployable under test ended by itself."""


@dataclass(frozen=True, slots=True)
class Deployable:
    """One that runs: where it answers, and its process."""

    name: str
    address: str
    process: Process

    @property
    def pid(self) -> int:
        """Of its process."""
        return self.process.pid


class Site:
    """Where deployables are started. What it started it stops in reverse order."""

    def __init__(self, folder: Path, nats_url: str, stack: AsyncExitStack, profile: Path | None) -> None:
        self._folder = folder
        self._nats_url = nats_url
        self._stack = stack
        self._profile = profile
        self._count = 0

    async def service(self, name: str, database_url: str, **told: str) -> Deployable:
        """A gRPC service, serving; at an address of its own, unless it is told one."""
        listen = told.get("TREADLE_LISTEN") or f"127.0.0.1:{free_port()}"
        environment = {
            "TREADLE_LISTEN": listen,
            f"TREADLE_{name.upper()}_DATABASE_URL": database_url,
            "TREADLE_NATS_URL": self._nats_url,
            **told,
        }
        started = await self._start(name, listen, environment)
        async with asyncio.timeout(_START_SECONDS), grpc.aio.insecure_channel(listen) as channel:
            while not await _serving(channel):
                _alive(started)
                await asyncio.sleep(0.02)
        return started

    async def gateway(self, *services: Deployable, **told: str) -> Deployable:
        """A gateway to these services, answering."""
        listen = f"127.0.0.1:{free_port()}"
        targets = {f"TREADLE_{service.name.upper()}_TARGET": service.address for service in services}
        started = await self._start("gateway", listen, {"TREADLE_GATEWAY_LISTEN": listen, **targets, **told})
        async with asyncio.timeout(_START_SECONDS):
            while not await _answers(listen):
                _alive(started)
                await asyncio.sleep(0.02)
        return started

    async def _start(self, name: str, address: str, environment: dict[str, str]) -> Deployable:
        self._count += 1
        profiled: list[str] = []
        if self._profile is not None:
            self._profile.mkdir(parents=True, exist_ok=True)
            profiled = ["-m", "cProfile", "-o", str(self._profile / f"{self._folder.name}-{self._count}-{name}.prof")]
        log = self._folder / f"{self._count}-{name}.log"
        common = {"TREADLE_HOME": str(self._folder / "home"), "TREADLE_LOG_LEVEL": "info"}
        process = Process(name, [*profiled, *_SERVE, name], {**common, **environment}, log)
        await process.start()
        self._stack.push_async_callback(_end, process)
        return Deployable(name, address, process)


@asynccontextmanager
async def site(folder: Path, nats_url: str, profile: Path | None = None) -> AsyncIterator[Site]:
    """A Site whose deployables end with the context."""
    async with AsyncExitStack() as stack:
        yield Site(folder, nats_url, stack, profile)


def _alive(deployable: Deployable) -> None:
    if not deployable.process.running:
        raise DeployableEnded(f"{deployable.name} ended:\n{deployable.process.tail()}")


async def _end(process: Process) -> None:
    if process.running:
        await process.end(signal.SIGTERM)


async def _serving(channel: grpc.aio.Channel) -> bool:
    with contextlib.suppress(grpc.aio.AioRpcError):
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=2)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
    return False


async def _answers(address: str) -> bool:
    with contextlib.suppress(OSError, UnexpectedAnswer):
        connection = await open_connection(address)
        try:
            await connection.request("GET", "/healthz")
            return True
        finally:
            connection.close()
    return False
