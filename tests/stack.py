"""A running Treadle of a test's own: `treadle up` as one process, or every service in processes of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from services.engines import Engines, discard
from services.kernel.migrations import migrate
from tests.ports import free_port

_READY = re.compile(r"ready: (http://\S+)")
_START_SECONDS = 180


@dataclass
class Process:
    """One process under test, started and stopped by its id; its output goes to a file."""

    name: str
    arguments: list[str]
    environment: dict[str, str]
    log: Path
    _running: asyncio.subprocess.Process | None = field(default=None, repr=False)

    async def start(self) -> None:
        """Starts it in a process group of its own."""
        base = {key: value for key, value in os.environ.items() if not key.startswith("TREADLE_")}
        with self.log.open("ab") as out:
            self._running = await asyncio.create_subprocess_exec(
                sys.executable,
                *self.arguments,
                env={**base, **self.environment, "PYTHONUNBUFFERED": "1"},
                stdout=out,
                stderr=out,
                stdin=asyncio.subprocess.DEVNULL,
            )

    @property
    def pid(self) -> int:
        """Of the process as it runs now."""
        assert self._running is not None
        return self._running.pid

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._running is not None and self._running.returncode is None

    async def kill(self) -> None:
        """kill -9."""
        await self.end(signal.SIGKILL)

    async def end(self, number: int = signal.SIGTERM, within: float = 40.0) -> int:
        """Sends the signal, waits, answers the exit code. What does not stop in time is killed and is a failure."""
        assert self._running is not None
        if self._running.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._running.send_signal(number)
        try:
            async with asyncio.timeout(within):
                return await self._running.wait()
        except TimeoutError:
            self._running.kill()
            await self._running.wait()
            raise AssertionError(f"{self.name} did not stop within {within} s; log:\n{self.tail()}") from None

    def tail(self, most: int = 6_000) -> str:
        """The end of its output."""
        return self.log.read_text(errors="replace")[-most:] if self.log.exists() else ""


@dataclass
class Stack:
    """`treadle up` on a folder of its own."""

    home: Path
    port: int
    environment: dict[str, str] = field(default_factory=dict)
    demo: bool = False
    url: str = ""
    _process: Process | None = None

    async def start(self) -> None:
        """Starts it and waits until it says that it is ready."""
        log = self.home.parent / f"{self.home.name}.out"
        log.unlink(missing_ok=True)
        arguments = ["-m", "services.cli.main", "up", *(["--demo"] if self.demo else [])]
        told = {"TREADLE_HOME": str(self.home), "TREADLE_PORT": str(self.port), "TREADLE_OPEN_BROWSER": "0"}
        self._process = Process("treadle up", arguments, {**told, **self.environment}, log)
        await self._process.start()
        async with asyncio.timeout(_START_SECONDS):
            while not (found := _READY.search(log.read_text(errors="replace"))):
                assert self._process.running, f"treadle up ended:\n{self._process.tail()}\n{self.log_tail()}"
                await asyncio.sleep(0.02)
        self.url = found.group(1).rstrip("/")

    @property
    def process(self) -> Process:
        """The one process."""
        assert self._process is not None
        return self._process

    async def kill(self) -> None:
        """kill -9 of the whole."""
        await self.process.kill()

    async def stop(self) -> int:
        """An orderly stop; the exit code."""
        return await self.process.end()

    def log_tail(self, most: int = 8_000) -> str:
        """The end of the structured log."""
        logs = sorted(self.home.rglob("treadle.log"))
        return logs[-1].read_text(errors="replace")[-most:] if logs else ""

    def client(self, timeout: float = 20.0) -> httpx.AsyncClient:
        """An HTTP client of it."""
        return httpx.AsyncClient(base_url=self.url, timeout=timeout)


@asynccontextmanager
async def running_stack(
    folder: Path, *, demo: bool = False, environment: dict[str, str] | None = None
) -> AsyncIterator[Stack]:
    """A Stack from ready to stopped; then its data is thrown away, wherever that lies."""
    stack = Stack(folder / "home", free_port(), environment or {}, demo)
    try:
        await stack.start()
        yield stack
    finally:
        if stack.process.running:
            await stack.stop()
        await thrown_away(stack.home)


async def thrown_away(home: Path) -> None:
    """A data folder with what it has in /var/lib. An engine whose parent was killed may still be writing its last."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await asyncio.to_thread(discard, home)
            except OSError:
                await asyncio.sleep(0.1)


@dataclass
class Fleet:
    """Every service in processes of its own (`treadle serve`), several replicas each, on one Postgres and one NATS."""

    gateways: list[str]
    targets: dict[str, list[str]]
    processes: dict[str, list[Process]]

    def client(self, replica: int = 0, timeout: float = 20.0) -> httpx.AsyncClient:
        """An HTTP client of one of the gateways."""
        return httpx.AsyncClient(base_url=self.gateways[replica], timeout=timeout)


@asynccontextmanager
async def running_fleet(
    folder: Path,
    servers: Engines,
    database_urls: dict[str, str],
    nats_url: str,
    *,
    replicas: int = 2,
    environment: dict[str, str] | None = None,
) -> AsyncIterator[Fleet]:
    """`replicas` of each service, of the runner and of the gateway; replica i of each talks to replicas i."""
    fleet = Fleet([], {}, {})
    common = {"TREADLE_NATS_URL": nats_url, "TREADLE_HOME": str(folder / "home"), **(environment or {})}
    async with AsyncExitStack() as stack:

        async def launch(name: str, told: dict[str, str]) -> Process:
            number = len(fleet.processes.setdefault(name, []))
            process = Process(
                f"{name}-{number}",
                ["-m", "services.cli.main", "serve", name],
                {**common, **told},
                folder / f"{name}-{number}.log",
            )
            fleet.processes[name].append(process)
            await process.start()
            stack.push_async_callback(_end_quietly, process)
            return process

        for name, url in database_urls.items():
            await migrate(url, f"services.{name}.migrations")
            fleet.targets[name] = [f"127.0.0.1:{free_port()}" for _ in range(replicas)]
        fleet.gateways.extend(f"http://127.0.0.1:{free_port()}" for _ in range(replicas))
        told = [
            {f"TREADLE_{name.upper()}_TARGET": targets[replica] for name, targets in fleet.targets.items()}
            for replica in range(replicas)
        ]
        for name, url in database_urls.items():
            for replica, address in enumerate(fleet.targets[name]):
                own = {"TREADLE_LISTEN": address, f"TREADLE_{name.upper()}_DATABASE_URL": url}
                alone = {"TREADLE_PLANNING_TARGET": "none"} if name == "streaming" else {}
                await launch(name, {**alone, **told[replica], **own})
        for replica, gateway in enumerate(fleet.gateways):
            await launch("runner", {**told[replica], "TREADLE_GATEWAY_URL": gateway})
            listen = gateway.removeprefix("http://")
            await launch("gateway", {**told[replica], "TREADLE_GATEWAY_LISTEN": listen})
        for url in fleet.gateways:
            await wait_ready(url, fleet)
        yield fleet


async def wait_ready(url: str, fleet: Fleet, seconds: float = _START_SECONDS) -> None:
    """Waits until the gateway says that it and what is behind it are ready."""
    async with asyncio.timeout(seconds), httpx.AsyncClient() as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(f"{url}/readyz")).status_code == 200:
                    return
            for process in (process for group in fleet.processes.values() for process in group):
                assert process.running, f"{process.name} ended:\n{process.tail()}"
            await asyncio.sleep(0.05)


async def _end_quietly(process: Process) -> None:
    if process.running:
        await process.end()
