"""Starts `supervised_program` and speaks with it."""

import asyncio
import contextlib
import functools
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from services.engines.account import Account, can_read
from services.engines.binaries import find_binaries

PROGRAM = Path(__file__).with_name("supervised_program.py")
ROOT = Path(__file__).parents[3]
NOBODY = 65534


@dataclass
class Supervised:
    process: asyncio.subprocess.Process
    said: dict[str, Any]

    def kill(self) -> None:
        self.process.kill()

    async def end(self) -> None:
        """Lets it stop by itself; kills it when it is stuck."""
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 20)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@contextlib.asynccontextmanager
async def supervised(home: Path, *, uid: int = -1) -> AsyncIterator[Supervised]:
    """A process that runs the engines, as another user when `uid` is given (root only)."""
    python, path = sys.executable, str(ROOT)
    programs: tuple[str, ...] = ()
    if uid >= 0:
        python, path, programs = _for_everybody()
    process = await asyncio.create_subprocess_exec(
        python,
        str(Path(path) / PROGRAM.name if uid >= 0 else PROGRAM),
        str(home),
        str(uid),
        *programs,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
        cwd="/",
    )
    assert process.stdout
    line = await asyncio.wait_for(process.stdout.readline(), 40)
    one = Supervised(process, json.loads(line or b"{}"))
    try:
        yield one
    finally:
        await one.end()


def python_for_everybody() -> str | None:
    """A Python of this version that an ordinary user may run, for its C extensions fit no other."""
    names = (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}")
    nobody = Account(NOBODY, NOBODY, drop=True)
    return next((n for n in names if Path(n).exists() and can_read(nobody, Path(n), execute=True)), None)


@functools.cache
def _for_everybody() -> tuple[str, str, tuple[str, ...]]:
    """Python, a folder with all the code that it needs, and the programs: readable for any user."""
    python = python_for_everybody()
    assert python
    folder = Path(tempfile.mkdtemp(prefix="treadle-test-code-"))
    folder.chmod(0o755)
    (folder / "services").mkdir()
    shutil.copytree(ROOT / "services" / "engines", folder / "services" / "engines")
    shutil.copy(PROGRAM, folder)
    for name in ("asyncpg", "nats", "psutil"):
        spec = importlib.util.find_spec(name)
        assert spec
        assert spec.origin
        shutil.copytree(Path(spec.origin).parent, folder / name)
    found = find_binaries(Account(NOBODY, NOBODY, drop=True))
    return python, str(folder), (str(found.postgres.folder), str(found.postgres.major), str(found.nats))


def discard_code() -> None:
    if _for_everybody.cache_info().currsize:
        shutil.rmtree(_for_everybody()[1], ignore_errors=True)


async def until_gone(*pids: int, seconds: float = 15) -> None:
    """Returns when none of the processes is there any more."""
    async with asyncio.timeout(seconds):
        while any(_alive(pid) for pid in pids):
            await asyncio.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
