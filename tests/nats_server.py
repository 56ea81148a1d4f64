"""A nats-server of a test's own, which can be killed and started again on the same data and port."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path

import nats

from services.engines.account import choose_account
from services.engines.binaries import find_binaries
from tests.ports import free_port


class NatsServer:
    """JetStream on file, loopback only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._program = find_binaries(choose_account(None, ())).nats
        self._process: asyncio.subprocess.Process | None = None
        self.url = f"nats://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Starts it and waits until JetStream answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._process = await asyncio.create_subprocess_exec(
            str(self._program),
            *(
                "-a",
                "127.0.0.1",
                "-p",
                str(self._port),
                "-js",
                "-sd",
                str(self._folder),
                "-l",
                str(self._folder / "log"),
            ),
        )
        async with asyncio.timeout(20):
            while not await _answers(self.url):
                await asyncio.sleep(0.02)

    async def kill(self) -> None:
        """kill -9."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """An orderly stop."""
        await self._end(signal.SIGTERM)

    async def _end(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)
            await self._process.wait()


async def _answers(url: str) -> bool:
    async def quiet(_: Exception) -> None:
        return None

    with contextlib.suppress(Exception):
        client = await nats.connect(
            url,
            allow_reconnect=False,
            reconnect_time_wait=0,
            connect_timeout=1,
            max_reconnect_attempts=0,
            error_cb=quiet,
        )
        try:
            await client.jetstream().account_info()
            return True
        finally:
            await client.close()
    return False
