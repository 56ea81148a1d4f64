"""Runs that race: an end against a stop, a lost lease and a repeat; starts that are faster than the spawn's answer
(PUB02, PUB08, A9-5, A9-6, B5-14)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import timedelta

import grpc

from services.coordination.adapters.purging import purge
from services.kernel.grpc_errors import refusal_from
from services.kernel.postgres import Database
from tests.integration.coordination.client import Coordination, refused, spec
from tests.integration.coordination.conftest import Served, StartReplica
from tests.integration.coordination.runner_client import (
    Runner,
    facts,
    lose,
    payload_of,
    reports_of,
    row_of,
    session_of,
    until,
)
from treadle.coordination.v1 import coordination_service_pb2 as pb

W = pb.Worker


async def outcome(call: Awaitable[object]) -> str:
    """`OK`, or the reason of the refusal."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        refusal = refusal_from(error)
        return refusal.reason if refusal is not None else str(error)
    return "OK"


async def test_pub02_an_end_against_a_stop_has_one_winner_and_one_fact(
    coordination: Coordination, chat: str, start_replica: StartReplica, database: Database, rounds: int
) -> None:
    other = await start_replica()
    runner = Runner(other.channel)
    for n in range(rounds):
        name = f"w{n}"
        await coordination.spawn(chat, spec(name))
        (job,) = await runner.claim()
        ended, stopped = await asyncio.gather(
            outcome(runner.complete(job, text="done")), outcome(coordination.cancel(chat, name))
        )
        assert ended == "OK", "a result wins over a stop"
        assert stopped in ("OK", "WORKER_ENDED")
        worker = await coordination.worker(chat, name)
        assert (worker.status, worker.result) == (W.STATUS_SUCCEEDED, "done")
    assert len(await facts(database, "ended")) == rounds


async def test_pub08_an_end_that_is_said_by_many_at_once_is_one(
    coordination: Coordination, chat: str, start_replica: StartReplica, database: Database, rounds: int
) -> None:
    other = await start_replica()
    for n in range(rounds):
        await coordination.spawn(chat, spec(f"w{n}"))
        (job,) = await Runner(coordination.channel).claim()
        runners = [Runner(one.channel) for one in (coordination, other, coordination, other)]
        said = await asyncio.gather(*(outcome(one.complete(job, text="done", tokens=5)) for one in runners))
        assert set(said) <= {"OK", "CONTENDED"}
        assert "OK" in said
        assert await reports_of(database, f"w{n}") == [(1, True, False, "done")]
    assert (await coordination.roster(chat)).spent_tokens == 5 * rounds
    assert len(await facts(database, "ended")) == rounds


async def test_an_end_against_a_lost_lease_is_taken_whole_or_refused_whole(
    coordination: Coordination, chat: str, sessions: Served, database: Database, rounds: int
) -> None:
    runner = Runner(coordination.channel)
    rounds = min(rounds, 40)  # where the lease is lost, the reconciler is waited for
    for n in range(rounds):
        name = f"w{n}"
        await coordination.spawn(chat, spec(name))
        (job,) = await runner.claim()
        await runner.beat(job, said=True)
        said, _ = await asyncio.gather(outcome(runner.complete(job, text="done")), lose(database, name))
        assert said in ("OK", "LEASE_LOST")

        async def has_ended(name: str = name) -> bool:
            return (await row_of(database, name))["ended_at"] is not None

        await until(has_ended)
        got = (await row_of(database, name))["reason"]
        assert got == ("completed" if said == "OK" else "runner_lost")
    assert len(await facts(database, "ended")) == rounds


async def test_a_row_that_others_hold_for_long_costs_no_runner_its_lease(
    coordination: Coordination, chat: str, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    runner = Runner(coordination.channel)
    jobs = await runner.claim_all(2)
    async with database.transaction() as tx:
        await tx.raw.fetch("SELECT 1 FROM coordinators WHERE session_id = $1 FOR UPDATE", chat)
        saying = [
            asyncio.create_task(outcome(runner.beat(jobs["alpha"], said=True))),
            asyncio.create_task(outcome(runner.complete(jobs["beta"], text="done"))),
        ]
        done, _ = await asyncio.wait(saying, timeout=2.5)  # longer than a lock is waited for
        assert not done
    assert [await one for one in saying] == ["OK", "OK"]
    assert (await row_of(database, "alpha"))["said"]
    async with database.transaction() as tx:
        await tx.raw.fetch("SELECT 1 FROM coordinators WHERE session_id = $1 FOR UPDATE", chat)
        async with refused(grpc.StatusCode.UNAVAILABLE, "CONTENDED"):
            await runner.beat(jobs["alpha"])


async def test_a9_5_a_worker_that_starts_before_the_spawn_is_answered_has_its_session(
    coordination: Coordination, chat: str, database: Database
) -> None:
    runner = Runner(coordination.channel)
    claiming = asyncio.create_task(runner.claim(wait=20))
    spawned, jobs = await asyncio.gather(coordination.spawn(chat, spec("alpha")), claiming)
    worker = await coordination.worker(chat, "alpha")
    assert spawned[0].subagent_id == payload_of(jobs[0])["worker_id"] == worker.id
    assert worker.ids.subagent_session_id == session_of(jobs[0])
    assert worker.status == W.STATUS_RUNNING


async def test_a9_6_a_worker_that_ends_before_the_spawn_is_answered_stays_ended(
    coordination: Coordination, chat: str, database: Database, rounds: int
) -> None:
    runner = Runner(coordination.channel)

    async def fast() -> None:
        (job,) = await runner.claim(wait=20)
        await runner.complete(job, text="at once")

    for n in range(rounds):
        racing = asyncio.create_task(fast())
        (spawned,) = await coordination.spawn(chat, spec(f"w{n}"))
        await racing
        assert spawned.ok
        assert (await coordination.worker(chat, f"w{n}")).status == W.STATUS_SUCCEEDED


async def test_b5_14_what_the_spawn_answers_has_been_told_before(
    coordination: Coordination, chat: str, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    assert [one["name"] for one in await facts(database, "spawned")] == ["alpha"]
    assert (await row_of(database, "alpha"))["job_state"] == "queued"


async def test_b5_16_what_a_runner_says_for_the_log_is_told_to_nobody(
    coordination: Coordination, chat: str, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    runner = Runner(coordination.channel)
    (job,) = await runner.claim()
    await runner.complete(job, "launch_failed", detail="Traceback: ZX-SECRET-7 at /home/somebody")
    seen = str(await coordination.roster(chat)) + str(await coordination.workers(chat)) + str(await facts(database))
    async with refused(grpc.StatusCode.ABORTED, "LEASE_LOST") as refusal:
        await runner.beat(job)
    assert "ZX-SECRET-7" not in seen + str(refusal.metadata) + refusal.message


async def test_b5_13_after_the_end_no_runner_gets_the_worker_again(
    coordination: Coordination, chat: str, start_replica: StartReplica
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    runner = Runner(coordination.channel)
    (job,) = await runner.claim(claim_id="c-1")
    await runner.complete(job, text="x")
    other = Runner((await start_replica()).channel)
    assert await other.claim(wait=0) == []
    assert await other.claim(wait=0, claim_id="c-1") == []


async def test_what_is_long_over_is_forgotten_and_what_is_asked_for_is_not(
    coordination: Coordination, chat: str, database: Database
) -> None:
    await coordination.spawn(chat, spec("over"), spec("live"))
    runner = Runner(coordination.channel)
    jobs = await runner.claim_all(2)
    await runner.complete(jobs["over"], text="x")
    async with database.connection() as tx:
        await tx.raw.execute("UPDATE jobs SET updated_at = now() - interval '8 days'")
        turn = await tx.raw.fetchval("SELECT spawned_by_turn FROM workers LIMIT 1")
        for turn_id in (turn, "trn_old"):
            await tx.raw.execute(
                "INSERT INTO ended_turns VALUES ('default', $1, $2, 'ok', now() - interval '31 days')", chat, turn_id
            )
        await tx.raw.execute("INSERT INTO deleted_sessions VALUES ('default', 'ses_old', now() - interval '31 days')")
        await tx.raw.execute("INSERT INTO deleted_sessions VALUES ('default', 'ses_new', now())")
        for session_id in ("ses_old", "ses_new", chat):
            await tx.raw.execute(
                "INSERT INTO injections VALUES ('default', $1, 'trn_1', 'coordinator', 'told', 'digest', now())",
                session_id,
            )
    await purge(database, timedelta(days=30))
    async with database.connection() as tx:
        left = await tx.raw.fetch("SELECT id FROM jobs")
        turns = await tx.raw.fetch("SELECT turn_id FROM ended_turns")
        gone = await tx.raw.fetch("SELECT session_id FROM deleted_sessions")
        told = await tx.raw.fetch("SELECT session_id FROM injections")
    assert [row["id"] for row in left] == [jobs["live"].id]
    assert [row["turn_id"] for row in turns] == [turn]
    assert [row["session_id"] for row in gone] == ["ses_new"]
    assert [row["session_id"] for row in told] == [chat]
    async with refused(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND"):
        await runner.complete(jobs["over"], text="x")


async def test_pub08_a_claim_and_its_repeat_at_one_moment_on_two_replicas_are_one(
    coordination: Coordination,
    chat: str,
    sessions: Served,
    start_replica: StartReplica,
    database: Database,
    rounds: int,
) -> None:
    other = await start_replica()
    another_chat = sessions.fake.open().id
    await coordination.flag(another_chat)
    runners = [Runner(one.channel) for one in (coordination, other, coordination, other)]
    for n in range(rounds):
        for session in (chat, another_chat):
            await coordination.spawn(session, spec(f"a{n}"), spec(f"b{n}"))
        answers = await asyncio.gather(*(one.claim(most=32, claim_id=f"c{n}") for one in runners))
        leases = [{(job.id, job.fence) for job in jobs} for jobs in answers]
        assert len(leases[0]) == 2, "those of one coordinator"
        assert leases == leases[:1] * 4
        rest = await runners[0].claim()
        assert {payload_of(job)["coordinator_session_id"] for job in rest} == {another_chat}, "who waited longest first"
        for job in [*answers[0], *rest]:
            assert (await row_of(database, payload_of(job)["name"]))["launches"] == 1
            await runners[0].complete(job)
