"""A process of the benchmark's own that speaks lines of JSON: readers, raw servers. Started and stopped by its pid."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson


class HelperEnded(Exception):
    """It ended while something was still wanted of it."""


class HelperProcess:
    """What it said last, by key; `said` waits for a key, `tell` writes a line to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.heard: dict[str, Any] = {}
        self._news = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def tell(self, line: str) -> None:
        """Writes a line to its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")

    async def ask(self, line: str, key: str, seconds: float = 60) -> Any:
        """Tells it, and answers what it says under the key after that."""
        self.heard.pop(key, None)
        self.tell(line)
        return await self.said(key, seconds)

    async def said(self, key: str, seconds: float = 60) -> Any:
        """What it said under a key; waits for it."""
        await self.until(lambda heard: key in heard, seconds)
        return self.heard[key]

    async def until(self, holds: Any, seconds: float = 60) -> None:
        """Waits until `holds(heard)`; HelperEnded when it ends before, TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds), self._news:
            while not holds(self.heard):
                if self._reading.done():
                    raise HelperEnded(f"exit code {self._process.returncode}, last heard {self.heard}")
                await self._news.wait()

    async def stop(self) -> None:
        """Ends its standard input, which it takes as the end, and waits."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(10):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            async for line in self._process.stdout:
                self.heard.update(orjson.loads(line))
                async with self._news:
                    self._news.notify_all()
        finally:
            with suppress(RuntimeError):
                asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        async def wake() -> None:
            async with self._news:
                self._news.notify_all()

        self._waking = asyncio.create_task(wake())


@asynccontextmanager
async def helper_process(module: str, *arguments: str) -> AsyncIterator[HelperProcess]:
    """Runs `python -m <module> <arguments>` while the context is open."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**20,
    )
    helper = HelperProcess(process)
    try:
        yield helper
    finally:
        await helper.stop()
