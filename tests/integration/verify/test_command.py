"""`treadle verify` over the databases that are named: what it says, and its exit code."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack

import orjson

from services.kernel.postgres import Database
from tests.conftest import SERVICES, MakeDatabase
from tests.integration.verify.houses import furnish


async def verify(urls: dict[str, str], *more: str) -> tuple[int, str]:
    """Its exit code and what it printed."""
    told = {f"TREADLE_{name.upper()}_DATABASE_URL": url for name, url in urls.items()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.cli.main", "verify", *more),
        env={**os.environ, **told},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def test_all_databases_are_looked_at_and_findings_are_named(make_database: MakeDatabase) -> None:
    urls = {name: await make_database(name) for name in SERVICES}
    async with AsyncExitStack() as stack:
        databases = {name: await Database.open(url, "test") for name, url in urls.items()}
        for one in databases.values():
            stack.push_async_callback(one.close)
        await furnish(databases)
        code, told = await verify(urls)
        assert code == 0, told
        for words in (
            "threads: looked at 0 threads",
            "coordination: looked at 1 coordinators, 1 workers",
            "planning: looked at 3 workspaces",
            "streaming: looked at 4 sessions",
            "across: looked at 2 workspaces",
            "  ok  every workspace is that of a session that is there, or was deleted",
        ):
            assert words in told
        async with databases["coordination"].connection() as tx:
            await tx.raw.execute("UPDATE workers SET reason = 'timeout', status = 'cancelled'")
        code, told = await verify(urls)
        assert code == 1
        assert "coordination: looked at" in told
        assert "default wrk_1 [worker-end] alpha ended as cancelled because of timeout" in told
        code, told = await verify({"coordination": urls["coordination"]}, "--json")
        verdict = orjson.loads(told)
        assert (code, verdict["ok"]) == (1, False)
        (only,) = verdict["services"]
        assert only["service"] == "coordination"
        assert only["looked_at"]["workers"] == 1
        assert only["findings"] == [
            {
                "service": "coordination",
                "tenant": "default",
                "id": "wrk_1",
                "rule": "worker-end",
                "words": "alpha ended as cancelled because of timeout",
            }
        ]
