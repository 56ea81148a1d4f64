"""npm's `eventsource` under Node, installed from the lock file into a folder of the test's own."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
import pytest

from tests.clients.heard import LISTENED, Heard

_HERE: Final = Path(__file__).parent
_FILES: Final = ("package.json", "package-lock.json", ".npmrc", "node_client.mjs")
_INSTALL_SECONDS: Final = 90


async def install(folder: Path) -> Path:
    """`npm ci`; the script to run. Without Node the test fails where CI=true and is skipped, saying so, elsewhere."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        missing = "no node and npm on this machine: npm's eventsource cannot be tried"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    for name in _FILES:
        shutil.copy(_HERE / name, folder)
    installing = await asyncio.create_subprocess_exec(
        *(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(_INSTALL_SECONDS):
        said, _ = await installing.communicate()
    assert installing.returncode == 0, said.decode(errors="replace")
    return folder / "node_client.mjs"


@dataclass(frozen=True)
class NodeClient:
    """Implements heard.Client."""

    script: Path
    url: str

    async def read(self, path: str, end: str) -> list[Heard]:
        """As heard.Client."""
        arguments = (f"{self.url}{path}", orjson.dumps(LISTENED).decode(), end)
        process = await asyncio.create_subprocess_exec(
            *("node", str(self.script), *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, faults = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, faults.decode(errors="replace")
        return [Heard(*orjson.loads(line)) for line in out.splitlines()]
