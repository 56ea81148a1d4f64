"""`treadle verify` over a database: what it says when all is well, and when it is not."""

from __future__ import annotations

import asyncio
import sys

import orjson
import pytest

from services.kernel.postgres import Database
from tests.integration.threads.client import Client
from tests.integration.threads.family import child, children_of, family, finish


async def verify(database_url: str, *more: str) -> tuple[int, str]:
    """Its exit code and what it printed."""
    command = [sys.executable, "-m", "services.cli.main", "verify", "--database-url", database_url, *more]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    told, _ = await process.communicate()
    return process.returncode or 0, told.decode()


async def test_a_sound_database_is_said_to_be_and_what_was_looked_at(threads: Client, database_url: str) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    await finish(threads, (await children_of(threads, umbrella.name))[0])
    code, told = await verify(database_url)
    assert code == 0
    assert "3 threads" in told
    assert "1 families" in told
    assert "no closed parent has a live child" in told


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE threads SET open_children = 1 WHERE children > 0", "the column open_children is 1, counted 2"),
        ("UPDATE threads SET state = 'done' WHERE children > 0", "the column says done"),
        ("UPDATE threads SET policy_met = true WHERE children > 0", "policy_met"),
        ("DELETE FROM thread_events WHERE kind = 'subthreads_spawned'", "does not follow"),
    ],
)
async def test_a_fault_is_named_and_the_exit_code_is_one(
    threads: Client, database_url: str, damage: str, says: str
) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    database = await Database.open(database_url, "test")
    async with database.connection() as tx:
        await tx.raw.execute(damage)
    await database.close()
    code, told = await verify(database_url, "--json")
    verdict = orjson.loads(told)
    assert (code, verdict["ok"]) == (1, False)
    (threads_verdict,) = verdict["services"]
    findings = threads_verdict["findings"]
    assert {(one["tenant"], one["id"], one["rule"]) for one in findings} == {("default", umbrella.id, "thread")}
    assert any(says in one["words"] for one in findings)


async def test_a_database_that_is_not_there_is_unavailable() -> None:
    code, _ = await verify("postgresql://treadle:x@127.0.0.1:1/threads")
    assert code == 4
