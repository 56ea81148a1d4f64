"""What hangs on a deleted coordinator goes after its time, and never under a live worker; injections are bounded."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import grpc
import pytest

from services.coordination.adapters.checks import CHECKS
from services.coordination.adapters.injection_rows import PostgresInjections
from services.coordination.adapters.purging import purge
from services.coordination.application.running import Beat
from services.coordination.application.work import Note
from services.coordination.domain.injection import Injection, digest
from services.coordination.domain.limits import INJECTIONS_KEPT
from services.coordination.domain.worker import Coordinator
from services.kernel.errors import NotFound
from services.kernel.postgres import Database
from services.kernel.verifying import examine
from tests.integration.coordination.client import Coordination, refused, spec
from tests.integration.coordination.parts import Parts
from tests.integration.coordination.results_client import Results
from tests.integration.coordination.rows import TENANT, coordinator, worker
from tests.integration.coordination.runner_client import Runner

MONTH = timedelta(days=30)
TABLES = ("coordinators", "workers", "notes", "reports", "injections", "jobs", "wakes", "stops")


async def left(database: Database, of: Coordinator) -> dict[str, int]:
    """How many rows there are of a coordinator and its workers, by table; tables without any are left out."""
    mine = "(SELECT id FROM workers WHERE coordinator_id = $1)"
    sessions = f"(session_id = $1 OR session_id IN (SELECT session_id FROM workers WHERE id IN {mine}))"
    where = {
        "coordinators": "session_id = $1",
        "workers": "coordinator_id = $1",
        "notes": "coordinator_id = $1",
        "reports": f"worker_id IN {mine}",
        "injections": sessions,
        "jobs": f"subject IN {mine}",
        "wakes": "coordinator_id = $1",
        "stops": sessions,
    }
    async with database.connection() as tx:
        counts = {
            name: await tx.raw.fetchval(f"SELECT count(*) FROM {name} WHERE {where[name]}", of.session_id)
            for name in TABLES
        }
    return {name: count for name, count in counts.items() if count}


async def total(database: Database) -> dict[str, int]:
    """How many rows there are at all."""
    async with database.connection() as tx:
        return {name: await tx.raw.fetchval(f"SELECT count(*) FROM {name}") for name in TABLES}


async def told(parts: Parts, session_id: str, turn_id: str) -> None:
    """Something was injected."""
    made = Injection(session_id, turn_id, "coordinator", "x", digest("x"), parts.clock.now())
    await PostgresInjections(parts.database).keep(TENANT, made)


async def busy(parts: Parts, of: Coordinator, *names: str) -> None:
    """Workers that have ended with reports and notes; the coordinator has notes, an injection and a wake."""
    await parts.put(of, *(worker(of, name) for name in names))
    for name, leased in (await parts.take()).items():
        await parts.running.report(leased.job.id, 1, f"so far {name}")
        await parts.running.complete(leased.job.id, 1, "completed", f"## Result\n{name}", 0, "")
        await told(parts, leased.worker.session_id, "trn_1")
    await told(parts, of.session_id, "trn_1")
    async with parts.workshop.work() as work:
        there = await work.coordinator(of.tenant, of.session_id)
        assert there is not None
        await work.save_coordinator(replace(there, note_seq=1))
        await work.add_note(of.tenant, of.session_id, "", Note(1, "x", "user:ann", parts.clock.now()))
        for one in names:
            held = await work.worker(of.tenant, of.session_id, one)
            assert held is not None
            await work.save_worker(replace(held, note_seq=1))
            await work.add_note(of.tenant, of.session_id, held.id, Note(1, "x", "user:ann", parts.clock.now()))
        await work.want_wake(of.tenant, of.session_id, parts.clock.now() + timedelta(hours=1))


async def delete(parts: Parts, of: Coordinator, ago: timedelta) -> None:
    """Its session was deleted so long ago."""
    await parts.hear(of.session_id, "deleted")
    async with parts.database.connection() as tx:
        await tx.raw.execute(
            "UPDATE deleted_sessions SET deleted_at = $2 WHERE session_id = $1", of.session_id, datetime.now(UTC) - ago
        )


async def test_what_hangs_on_a_deleted_coordinator_goes_after_its_time_and_nothing_else_does(parts: Parts) -> None:
    database = parts.database
    old, lately, kept = coordinator("ses_old"), coordinator("ses_lately"), coordinator("ses_kept")
    for of in (old, lately, kept):
        await busy(parts, of, "alpha", "beta")
    await delete(parts, old, MONTH + timedelta(hours=1))
    await delete(parts, lately, MONTH - timedelta(hours=1))
    whole = await left(database, kept)
    assert whole == dict.fromkeys(TABLES[:-1], 1) | {"workers": 2, "notes": 3, "reports": 4, "injections": 3, "jobs": 2}
    await purge(database, MONTH)
    assert await left(database, old) == {}
    assert await left(database, kept) == whole
    assert await left(database, lately) == whole | {"injections": 2}, "what its session was told goes with the session"
    assert (await total(database))["jobs"] == 4
    assert (await examine(database, CHECKS)).findings == []
    await purge(database, MONTH)
    assert await left(database, lately) == whole | {"injections": 2}
    await purge(database, timedelta(0))
    assert await left(database, lately) == {}
    assert await left(database, kept) == whole


async def test_a_live_worker_and_one_whose_session_is_still_to_be_aborted_keep_all_of_it(parts: Parts) -> None:
    database = parts.database
    of = coordinator("ses_gone")
    await parts.put(of, worker(of, "runs"), worker(of, "done"))
    taken = await parts.take()
    await parts.running.complete(taken["done"].job.id, 1, "completed", "all", 0, "")
    await delete(parts, of, 2 * MONTH)
    await purge(database, MONTH)
    assert (await left(database, of))["workers"] == 2
    assert (await parts.running.heartbeat(taken["runs"].job.id, 1, Beat()))[1], "it is told to stop"

    parts.clock.go(31)
    await parts.times_are_over()
    assert (await left(database, of))["stops"] == 1
    await purge(database, MONTH)
    assert (await left(database, of))["workers"] == 2
    await parts.aborting.round()
    await purge(database, MONTH)
    assert await left(database, of) == {}
    with pytest.raises(NotFound, match="no such job"):
        await parts.running.complete(taken["runs"].job.id, 1, "cancelled", "", 0, "")


async def test_the_deletion_is_remembered_for_as_long_as_there_is_the_record(parts: Parts) -> None:
    of, other = coordinator("ses_gone"), coordinator("ses_other")
    await busy(parts, of, "alpha")
    await delete(parts, of, 2 * MONTH)
    await parts.hear(other.session_id, "deleted")
    async with parts.database.connection() as tx:
        await tx.raw.execute("UPDATE deleted_sessions SET deleted_at = now() - interval '60 days'")
    await purge(parts.database, 3 * MONTH)
    async with parts.database.connection() as tx:
        known = [row["session_id"] for row in await tx.raw.fetch("SELECT session_id FROM deleted_sessions")]
    assert known == [of.session_id]
    assert (await left(parts.database, of))["workers"] == 1


async def test_purges_that_are_cut_short_and_race_leave_it_whole_and_finish_it(
    parts: Parts, database_url: str, rounds: int
) -> None:
    other = await Database.open(database_url, "test")
    try:
        for n in range(min(rounds, 20)):
            of = coordinator(f"ses_{n}")
            await busy(parts, of, *(f"w{one}" for one in range(8)))
            await delete(parts, of, 2 * MONTH)
            cut = [asyncio.create_task(purge(one, MONTH)) for one in (parts.database, other)]
            while (
                len(await left(parts.database, of)) and (await left(parts.database, of)).get("workers", 0) > 6 - n % 6
            ):
                await asyncio.sleep(0)
            for one in cut:
                one.cancel()
            await asyncio.gather(*cut, return_exceptions=True)
            assert (await examine(parts.database, CHECKS)).findings == []
            await asyncio.gather(purge(parts.database, MONTH), purge(other, MONTH))
            await purge(other, MONTH)
            assert await left(parts.database, of) == {}
    finally:
        await other.close()


async def test_a_session_keeps_the_newest_of_what_it_was_told(parts: Parts) -> None:
    for session_id, count in (("ses_long", INJECTIONS_KEPT + 7), ("ses_short", 3)):
        async with parts.database.connection() as tx:
            await tx.raw.execute(
                "INSERT INTO injections SELECT 'default', $1, 'trn_' || n, 'worker', 'x', $2,"
                " now() - interval '1 year' + n * interval '1 second' FROM generate_series(1, $3::int) n",
                session_id,
                digest("x"),
                count,
            )
    await purge(parts.database, MONTH)
    injections = PostgresInjections(parts.database)
    assert await injections.find(TENANT, "ses_long", "trn_7") is None
    assert await injections.find(TENANT, "ses_long", "trn_8") is not None
    assert (await total(parts.database))["injections"] == INJECTIONS_KEPT + 3


async def test_after_that_there_is_nothing_to_see_or_to_do_for_it(
    coordination: Coordination, chat: str, database: Database, parts: Parts
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    runner = Runner(coordination.channel)
    (job,) = await runner.claim()
    await runner.complete(job, text="all of it")
    await coordination.flag(chat, request_id="key")
    await parts.hear(chat, "deleted")
    assert (await Results(coordination).collect(chat, "alpha")).result == "all of it"
    await purge(database, timedelta(0))
    assert (await coordination.workers(chat)).threads == []
    async with refused(grpc.StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.roster(chat)
    async with refused(grpc.StatusCode.NOT_FOUND, "WORKER_NOT_FOUND"):
        await Results(coordination).collect(chat, "alpha")
    async with refused(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND"):
        await runner.beat(job)
    for key in ("key", "another"):
        async with refused(grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND"):
            await coordination.flag(chat, request_id=key)
