"""Starts runners in processes of their own: `python -m services.runner` with just the settings that a test tells."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Process = asyncio.subprocess.Process
Launch = Callable[[str], Awaitable[Process]]


@asynccontextmanager
async def launching(**told: str) -> AsyncIterator[Launch]:
    """`await launch("r1")` starts a runner of that id; what still runs at the end is killed."""
    started: list[Process] = []

    async def start(name: str) -> Process:
        base = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "TREADLE_RUNNER_ID": name}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "services.runner", env={**base, **told}, stderr=asyncio.subprocess.DEVNULL
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.wait()
