"""A planning service in a process of its own, which a test kills and starts again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc

from services.kernel.errors import Refusal
from services.kernel.ids import new_id
from tests.integration.planning.client import SECRET, Planning
from tests.ports import free_port
from tests.stack import Process


class PlanningProcess:
    """`planning` asks whichever of its processes runs."""

    def __init__(self, process: Process, planning: Planning) -> None:
        self.planning = planning
        self._process = process

    async def start(self) -> None:
        """It answers."""
        await self._process.start()
        async with asyncio.timeout(120):
            while True:
                try:
                    await self.planning.plan(new_id("ses"))
                except Refusal as refusal:
                    if refusal.reason == "SESSION_NOT_FOUND":
                        return
                except grpc.aio.AioRpcError:
                    assert self._process.running, self._process.tail()
                await asyncio.sleep(0.05)

    async def kill(self) -> None:
        """kill -9."""
        await self._process.kill()


@asynccontextmanager
async def planning_process(
    database_url: str, nats_url: str, streaming: str, folder: Path
) -> AsyncIterator[PlanningProcess]:
    """Started; killed at the end."""
    listen = f"127.0.0.1:{free_port()}"
    told = {
        "TREADLE_LISTEN": listen,
        "TREADLE_PLANNING_DATABASE_URL": database_url,
        "TREADLE_NATS_URL": nats_url,
        "TREADLE_STREAMING_TARGET": streaming,
        "TREADLE_AUTH_SECRET": SECRET,
    }
    process = Process("planning", ["-m", "services.cli.main", "serve", "planning"], told, folder / "planning.log")
    async with grpc.aio.insecure_channel(listen, options=[("grpc.max_reconnect_backoff_ms", 200)]) as channel:
        one = PlanningProcess(process, Planning(channel))
        try:
            await one.start()
            yield one
        finally:
            await one.kill()
