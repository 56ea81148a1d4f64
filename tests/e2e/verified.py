"""`treadle verify` on what a test leaves behind, while everything runs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping


async def assert_verified(databases: Mapping[str, str] | str) -> None:
    """No fault, in the databases (service to URL) or in all of a home (its folder)."""
    if isinstance(databases, str):
        told = {"TREADLE_HOME": databases}
    else:
        told = {f"TREADLE_{name.upper()}_DATABASE_URL": url for name, url in databases.items()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.cli.main", "verify"),
        env={**os.environ, **told},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
