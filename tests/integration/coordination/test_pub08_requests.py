"""PUB08: a retry after a timeout makes no second worker."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import grpc
from grpc import StatusCode

from services.coordination.adapters.work import PostgresWorkshop
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, Coordination, agent, bearing, refused, spec
from tests.integration.coordination.conftest import Served, StartReplica
from treadle.coordination.v1 import coordination_service_pb2 as pb


async def count(database: Database) -> list[int]:
    """Rows of workers, jobs and keys."""
    async with database.connection() as tx:
        tables = ("workers", "jobs", "idempotency")
        return [await tx.raw.fetchval(f"SELECT count(*) FROM {table}") for table in tables]


async def test_pub08_a_call_that_timed_out_and_two_retries_at_once_and_one_after_a_restart_make_one_worker(
    start_replica: StartReplica, sessions: Served, database: Database, rounds: int
) -> None:
    first, second = await start_replica(), await start_replica()
    session = sessions.fake.open()
    await first.flag(session.id)
    for number in range(rounds):
        key, asked = f"k{number}", [spec("Bad"), spec(f"w{number}")]
        request = pb.SpawnWorkersRequest(parent=f"sessions/{session.id}", threads=asked, request_id=key)
        with suppress(grpc.aio.AioRpcError):
            await first.stub.SpawnWorkers(request, metadata=bearing(agent(session.id)), timeout=0.003)
        both = await asyncio.gather(
            first.spawn(session.id, *asked, request_id=key), second.spawn(session.id, *asked, request_id=key)
        )
        assert list(both[0]) == list(both[1])
        assert [one.ok for one in both[0]] == [False, True]
        await first.cancel(session.id, f"w{number}")
    third = await start_replica()
    again = await third.spawn(session.id, spec("Bad"), spec("w0"), request_id="k0")
    workers = {one.name: one.id for one in (await third.workers(session.id)).threads}
    assert again[1].subagent_id == workers["w0"]
    assert len(workers) == rounds
    made = await count(database)
    assert made[:2] == [rounds, rounds]


async def test_pub08_the_key_with_another_body_is_refused_and_of_another_coordinator_is_its_own(
    coordination: Coordination, sessions: Served
) -> None:
    one, other = sessions.fake.open().id, sessions.fake.open().id
    for session in (one, other):
        await coordination.flag(session)
    await coordination.spawn(one, spec("alpha"), request_id="k", by=PERSON)
    for different in (spec("alpha", "another brief"), spec("beta")):
        async with refused(StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED", field="request_id"):
            await coordination.spawn(one, different, request_id="k", by=PERSON)
    (of_other,) = await coordination.spawn(other, spec("alpha"), request_id="k", by=PERSON)
    assert of_other.ok
    (of_agent,) = await coordination.spawn(one, spec("alpha"), request_id="k", by=agent(one))
    assert of_agent.code == "name_taken"
    assert len((await coordination.workers(one)).threads) == 1


async def test_pub08_a_repeat_is_answered_at_the_limit_and_after_the_turn_and_with_thread_mode_off(
    coordination: Coordination, chat: str, sessions: Served
) -> None:
    answer = await coordination.spawn(chat, *(spec(f"w{number}") for number in range(32)), request_id="k")
    assert all(one.ok for one in answer)
    (full,) = await coordination.spawn(chat, spec("more"))
    assert full.code == "too_many_threads"

    async def again() -> list[pb.SpawnWorkersResponse.Spawned]:
        return list(await coordination.spawn(chat, *(spec(f"w{number}") for number in range(32)), request_id="k"))

    assert await again() == list(answer)
    sessions.fake.sessions["default", chat].settle()
    assert await again() == list(answer)
    sessions.fake.down = True
    assert await again() == list(answer)
    await coordination.flag(chat, enabled=False)
    assert await again() == list(answer)


async def test_pub08_a_refused_call_frees_its_key(
    coordination: Coordination, sessions: Served, database: Database
) -> None:
    session = sessions.fake.open()
    session.settle()
    await coordination.flag(session.id)
    async with refused(StatusCode.FAILED_PRECONDITION, "NO_LIVE_TURN"):
        await coordination.spawn(session.id, spec("alpha"), request_id="k")
    assert (await count(database))[2] == 0
    session.begin()
    (one,) = await coordination.spawn(session.id, spec("beta"), request_id="k")
    assert one.ok


async def test_pub08_a_key_that_is_malformed_is_refused(coordination: Coordination, chat: str) -> None:
    for key in ("x" * 129, "a b", "ä"):
        async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST_ID", field="request_id"):
            await coordination.spawn(chat, spec("alpha"), request_id=key)


async def test_pub08_a_key_that_another_transaction_holds_is_waited_for(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop
) -> None:
    async with workshop.work() as work:
        await work.coordinator("default", chat)
        calls = [asyncio.create_task(coordination.spawn(chat, spec("alpha"), request_id="k")) for _ in range(4)]
        done, _ = await asyncio.wait(calls, timeout=0.1)
        assert not done
    answers = [list(await one) for one in calls]
    assert all(one == answers[0] for one in answers)
    assert answers[0][0].ok
