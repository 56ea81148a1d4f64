"""Runners that are lost, services that are killed, databases that are away: no worker is left behind (PUB07, C.3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from services.coordination.domain.limits import REPORT_BYTES
from services.engines import Engines
from services.kernel.postgres import Database
from tests.database_away import away
from tests.integration.coordination.client import SECRET, Coordination, refused, spec
from tests.integration.coordination.conftest import Served
from tests.integration.coordination.runner_client import (
    Runner,
    facts,
    lose,
    name_of,
    reports_of,
    row_of,
    session_of,
    until,
)
from tests.ports import free_port
from tests.stack import Process
from treadle.coordination.v1 import coordination_service_pb2 as pb
from treadle.coordination.v1 import job_service_pb2 as jobs

W = pb.Worker


@pytest.fixture
def runner(coordination: Coordination) -> Runner:
    """A runner."""
    return Runner(coordination.channel)


async def ended(database: Database, name: str) -> tuple[str, str, bool, bool]:
    """How a worker ended, once it has."""

    async def has_ended() -> bool:
        return (await row_of(database, name))["ended_at"] is not None

    await until(has_ended)
    row = await row_of(database, name)
    return row["status"], row["reason"], row["has_result"], row["partial"]


async def test_a_worker_that_has_said_nothing_is_begun_anew_once(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (first,) = await runner.claim()
    await lose(database)
    (second,) = await runner.claim(wait=10)
    assert (second.id, second.attempt, second.session) == (first.id, 2, first.session)
    await lose(database)
    assert await ended(database, "alpha") == ("interrupted", "runner_lost", False, False)
    assert await runner.claim(wait=0) == []
    assert [one["kind"] for one in await facts(database) if one["kind"] != "flag"] == ["spawned", "running", "ended"]


async def test_one_that_has_said_something_is_not_begun_anew(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("told"), spec("seen"))
    held = await runner.claim_all(2)
    await runner.beat(held["told"], said=True)
    for name in held:
        session = sessions.fake.open(id=session_of(held[name]))
        session.turns[-1].said, session.turns[-1].text = True, f"half of {name}"
        session.settle("", "failed", "runner_lost")
    await lose(database)
    for name in held:
        assert await ended(database, name) == ("interrupted", "runner_lost", True, True)
        assert await reports_of(database, name) == [(1, True, True, f"half of {name}")]
    assert await runner.claim(wait=0) == []


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("ok", ("succeeded", "completed", True, False)),
        ("truncated", ("failed", "budget_exhausted", True, True)),
        ("aborted", ("interrupted", "interrupted", True, True)),
    ],
)
async def test_a_turn_that_ended_meanwhile_ends_its_worker(
    coordination: Coordination,
    chat: str,
    runner: Runner,
    sessions: Served,
    database: Database,
    outcome: str,
    expected: tuple[str, str, bool, bool],
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.beat(job, said=True)
    session = sessions.fake.open(id=session_of(job))
    session.turns[-1].said, session.turns[-1].text, session.turns[-1].tokens = True, "## Result\n\nwhole", 70
    session.settle(outcome)
    await lose(database)
    assert await ended(database, "alpha") == expected
    assert (await coordination.roster(chat)).spent_tokens == 70
    async with refused(grpc.StatusCode.ABORTED, "LEASE_LOST"):
        await runner.complete(job, text="late")


async def test_a_turn_that_said_more_than_can_be_kept_ends_its_worker_as_too_large(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    session = sessions.fake.open(id=session_of(job))
    session.turns[-1].said, session.turns[-1].text = True, "x" * (REPORT_BYTES + 1)
    session.settle()
    await lose(database)
    assert await ended(database, "alpha") == ("failed", "result_too_large", False, False)


async def test_one_that_waits_for_a_person_is_adopted_and_goes_on(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    session = sessions.fake.open(id=session_of(job))
    session.turns[-1].said, session.turns[-1].state = True, "waiting"
    await runner.beat(job, said=True, waiting=True)
    for attempt in (2, 3, 4):
        await lose(database)
        (job,) = await runner.claim(wait=10)
        assert job.attempt == attempt
        worker = await coordination.worker(chat, "alpha")
        assert (worker.status, worker.waiting) == (W.STATUS_RUNNING, True)
    await runner.complete(job, text="answered")
    assert (await coordination.worker(chat, "alpha")).status == W.STATUS_SUCCEEDED
    assert len(await facts(database, "running")) == 1


async def test_an_adoption_that_nobody_takes_ends_with_its_turn(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    session = sessions.fake.open(id=session_of(job))
    session.turns[-1].said, session.turns[-1].state = True, "waiting"
    await lose(database)

    async def queued() -> bool:
        return bool((await row_of(database, "alpha"))["job_state"] == "queued")

    await until(queued)
    session.turns[-1].text = "answered"
    session.settle()
    async with database.connection() as tx:
        await tx.raw.execute("UPDATE jobs SET run_at = run_at - interval '1 minute'")
    assert await ended(database, "alpha") == ("succeeded", "completed", True, False)


async def test_a_turn_that_still_runs_is_looked_at_again_and_decided_when_it_has_failed(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.beat(job, said=True)
    session = sessions.fake.open(id=session_of(job), attended=True)
    asked = len(sessions.fake.askers)
    await lose(database)

    async def looked_at() -> bool:
        return len(sessions.fake.askers) > asked + 1

    await until(looked_at)
    assert (await row_of(database, "alpha"))["job_state"] == "leased", "and nobody else has it"
    session.settle("", "failed", "runner_lost")
    assert await ended(database, "alpha") == ("interrupted", "runner_lost", False, False)


async def test_while_streaming_is_away_nothing_is_decided_and_everything_afterwards(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    held = await runner.claim_all(2)
    await runner.beat(held["alpha"], said=True)
    sessions.fake.down = True
    asked = len(sessions.fake.askers)
    await lose(database)

    async def looked_at() -> bool:
        return len(sessions.fake.askers) > asked + 4

    await until(looked_at)
    assert {(await row_of(database, name))["job_state"] for name in held} == {"leased"}
    sessions.fake.down = False
    assert await ended(database, "alpha") == ("interrupted", "runner_lost", False, False)
    (again,) = await runner.claim(wait=10)
    assert name_of(again) == "beta"


async def test_one_faulty_row_never_stops_the_others(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("broken"), spec("alpha"))
    await runner.claim_all(2)
    async with database.connection() as tx:
        await tx.raw.execute("UPDATE workers SET stop_reason = 'no such reason' WHERE name = 'broken'")
        await tx.raw.execute("UPDATE workers SET said = true")
    await lose(database)
    assert await ended(database, "alpha") == ("interrupted", "runner_lost", False, False)


async def test_a_worker_that_was_to_stop_ends_so_when_its_runner_is_lost(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    session = sessions.fake.open(id=session_of(job), attended=True)
    await coordination.cancel(chat, "alpha")
    await lose(database)
    assert await ended(database, "alpha") == ("cancelled", "cancelled", False, False)

    async def aborted() -> bool:
        return session.turns[-1].outcome == "aborted"

    await until(aborted)


Launch = Callable[[], Awaitable[tuple[Process, Coordination]]]


@pytest.fixture
async def launch(
    database_url: str, nats_url: str, sessions: Served, tmp_path: Path, stack: AsyncExitStack
) -> AsyncIterator[Launch]:
    """Starts a replica in a process of its own; leases last for a second."""
    processes: list[Process] = []

    async def start() -> tuple[Process, Coordination]:
        address = f"127.0.0.1:{free_port()}"
        process = Process(
            "coordination",
            ["-m", "services.coordination"],
            {
                "TREADLE_LISTEN": address,
                "TREADLE_COORDINATION_DATABASE_URL": database_url,
                "TREADLE_NATS_URL": nats_url,
                "TREADLE_STREAMING_TARGET": sessions.address,
                "TREADLE_AUTH_SECRET": SECRET,
                "TREADLE_WORKER_LEASE_SECONDS": "1",
                "TREADLE_DRAIN_SECONDS": "5",
            },
            tmp_path / f"coordination-{len(processes)}.log",
        )
        processes.append(process)
        await process.start()
        channel = grpc.aio.insecure_channel(address)
        stack.push_async_callback(channel.close)
        async with asyncio.timeout(30):
            await channel.channel_ready()
        return process, Coordination(channel)

    yield start
    for process in processes:
        if process.running:
            with suppress(ProcessLookupError):
                await process.end()


async def rows(database: Database) -> list[dict[str, Any]]:
    """Everything that a restart could change."""
    async with database.connection() as tx:
        workers = await tx.raw.fetch("SELECT * FROM workers ORDER BY name")
        queue = await tx.raw.fetch("SELECT id, state, fence, attempt, reason FROM jobs ORDER BY id")
        reports = await tx.raw.fetch("SELECT * FROM reports ORDER BY worker_id, version")
        told = await tx.raw.fetch("SELECT event_id FROM outbox ORDER BY id")
    return [dict(row) for row in (*workers, *queue, *reports, *told)]


async def test_pub07_kill_9_and_a_database_that_is_away_leave_no_worker_behind(
    launch: Launch, sessions: Served, database: Database, database_url: str, servers: Engines
) -> None:
    process, coordination = await launch()
    chat = sessions.fake.open().id
    await coordination.flag(chat)
    await coordination.spawn(chat, spec("running"), spec("gated"))
    runner = Runner(coordination.channel)
    held = await runner.claim_all(2)
    turns = {}
    for name, job in held.items():
        turns[name] = sessions.fake.open(id=session_of(job))
        turns[name].turns[-1].said = True
        await runner.beat(job, said=True, waiting=name == "gated")
    turns["gated"].turns[-1].state = "waiting"
    await coordination.spawn(chat, spec("spawning"))
    await process.kill()
    turns["running"].turns[-1].text = "half"
    turns["running"].settle("", "failed", "runner_lost")

    process, coordination = await launch()
    async with away(servers, database_url):
        pass

    assert await ended(database, "running") == ("interrupted", "runner_lost", True, True)

    async def wanted() -> bool:
        return bool((await row_of(database, "gated"))["job_state"] == "queued")

    await until(wanted)
    gated = await coordination.worker(chat, "gated")
    assert (gated.status, gated.waiting) == (W.STATUS_RUNNING, True)
    assert (await coordination.worker(chat, "spawning")).status == W.STATUS_SPAWNING

    before = await rows(database)
    await process.kill()
    process, coordination = await launch()
    asked = len(sessions.fake.askers)

    async def looked_at() -> bool:
        return len(sessions.fake.askers) > asked

    async with database.connection() as tx:  # so that the adoption is old enough to be looked at
        await tx.raw.execute("UPDATE jobs SET run_at = run_at - interval '1 minute' WHERE state = 'queued'")
    await until(looked_at)
    assert await rows(database) == before, "a second restart changes nothing"

    runner = Runner(coordination.channel, "r2")
    held = await runner.claim_all(2)
    assert {name: job.attempt for name, job in held.items()} == {"gated": 2, "spawning": 1}
    for job in held.values():
        await runner.complete(job, text="done")
    got = {one["name"]: one["reason"] for one in await facts(database, "ended")}
    assert got == {"running": "runner_lost", "gated": "completed", "spawning": "completed"}
    assert len(await facts(database, "ended")) == 3


async def test_pub07_a_kill_between_a_claim_and_its_answer_loses_no_worker(
    launch: Launch, sessions: Served, database: Database
) -> None:
    process, coordination = await launch()
    chat = sessions.fake.open().id
    await coordination.flag(chat)
    runner = Runner(coordination.channel)
    waiting = asyncio.create_task(runner.claim(wait=20, claim_id="c-1"))
    await asyncio.sleep(0.1)
    await coordination.spawn(chat, spec("alpha"))
    await process.kill()
    taken: list[jobs.Job] = []
    with suppress(grpc.aio.AioRpcError):
        taken = await waiting
    _, coordination = await launch()
    runner = Runner(coordination.channel)
    again = await runner.claim(wait=20, claim_id="c-1")
    assert [name_of(one) for one in again] == ["alpha"]
    assert again[0].attempt <= 2, taken
