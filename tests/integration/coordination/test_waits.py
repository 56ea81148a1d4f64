"""Waits for workers: all, any or so many, at once for those that have ended, and nothing held meanwhile (C.4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from services.coordination.adapters.reads import PostgresReads
from services.coordination.adapters.report_rows import PostgresRoll
from services.coordination.adapters.wake import Wake
from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.application.waiting import Done, Waiting, Wish
from services.coordination.application.watching import Watches
from services.coordination.domain.worker import Reason
from services.kernel import telemetry
from services.kernel.bus import Bell
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, STRANGER, VIEWER, Coordination, agent, bearing, refused, spec
from tests.integration.coordination.conftest import Served, StartReplica
from tests.integration.coordination.results_client import Results, Wait
from tests.integration.coordination.runner_client import until
from tests.integration.coordination.runs import ended, taken
from tests.nats_server import NatsServer
from treadle.coordination.v1 import coordination_service_pb2 as pb

INVALID = grpc.StatusCode.INVALID_ARGUMENT
W = pb.Worker


@pytest.fixture
def results(coordination: Coordination) -> Results:
    """What is said about results."""
    return Results(coordination)


@pytest.fixture
async def three(coordination: Coordination, chat: str) -> str:
    """A coordinator with the workers a, b and c."""
    await coordination.spawn(chat, spec("a"), spec("b"), spec("c"))
    return chat


async def test_all_ends_with_the_last_of_them(three: str, workshop: PostgresWorkshop, results: Results) -> None:
    wait = results.wait(three)
    ends = (("b", Reason.COMPLETED), ("a", Reason.FAILED), ("c", Reason.CANCELLED))
    for count, (name, reason) in enumerate(ends, 1):
        assert wait.done is None
        await ended(workshop, three, name, reason, "text" if name == "b" else None)
        assert (await wait.told(count))[-1] == name
    done = await wait.over()
    assert wait.names == ["b", "a", "c"]
    assert (done.satisfied, done.ended, done.waited_for) == (True, 3, 3)
    assert [(one.name, one.status, one.reason) for one in done.threads] == [
        ("a", W.STATUS_FAILED, "failed"),
        ("b", W.STATUS_SUCCEEDED, "completed"),
        ("c", W.STATUS_CANCELLED, "cancelled"),
    ]
    assert [one.has_result for one in done.threads] == [False, True, False]
    assert (wait.workers[0].brief, wait.workers[0].result) == ("do b", "text")
    assert {one.brief for one in done.threads} == {""}


async def test_any_ends_with_the_first_and_quorum_with_the_nth(
    three: str, workshop: PostgresWorkshop, results: Results
) -> None:
    one, two = results.wait(three, "ANY"), results.wait(three, "QUORUM", n=2)
    await ended(workshop, three, "c", Reason.COMPLETED)
    done = await one.over()
    assert (one.names, done.satisfied, done.ended, done.waited_for) == (["c"], True, 1, 3)
    assert two.done is None
    await ended(workshop, three, "a", Reason.COMPLETED)
    assert (await two.over()).satisfied
    assert two.names == ["c", "a"]


async def test_those_that_have_ended_are_told_at_once(three: str, workshop: PostgresWorkshop, results: Results) -> None:
    await ended(workshop, three, "a", Reason.COMPLETED)
    await ended(workshop, three, "b", Reason.COMPLETED)
    every = results.wait(three, "ANY")
    assert (await every.over()).satisfied
    assert every.names == ["a", "b"]
    assert (await results.wait(three, "QUORUM", n=2).over()).satisfied
    named = results.wait(three, names=["b", "a", "b"])
    assert (await named.over()).waited_for == 2
    assert named.names == ["a", "b"], "oldest first"


async def test_only_those_that_are_named_are_waited_for(
    three: str, workshop: PostgresWorkshop, results: Results
) -> None:
    wait = results.wait(three, names=["b"])
    await ended(workshop, three, "a", Reason.COMPLETED)
    await ended(workshop, three, "b", Reason.COMPLETED)
    assert [one.name for one in (await wait.over()).threads] == ["b"]
    assert wait.names == ["b"]


async def test_those_spawned_later_are_not_waited_for(
    coordination: Coordination, three: str, workshop: PostgresWorkshop, results: Results
) -> None:
    wait = results.wait(three)
    await ended(workshop, three, "a", Reason.COMPLETED)
    await wait.told(1)
    await coordination.spawn(three, spec("d"))
    for name in ("b", "c"):
        await ended(workshop, three, name, Reason.COMPLETED)
    done = await wait.over()
    assert (done.satisfied, done.waited_for) == (True, 3)


async def test_the_time_is_over(three: str, workshop: PostgresWorkshop, results: Results) -> None:
    wait = results.wait(three, seconds=1)
    await ended(workshop, three, "a", Reason.COMPLETED)
    done = await wait.over()
    assert (done.satisfied, done.ended, done.waited_for) == (False, 1, 3)
    assert wait.names == ["a"]
    assert [one.status for one in done.threads] == [W.STATUS_SUCCEEDED, W.STATUS_SPAWNING, W.STATUS_SPAWNING]


async def test_the_time_has_a_short_name_too_as_the_tools_contract_has_it(three: str, results: Results) -> None:
    def asked(**fields: Any) -> Wait:
        request = pb.WaitWorkersRequest(parent=f"sessions/{three}", **fields)
        return Wait(results.stub.WaitWorkers(request, metadata=bearing(PERSON)))

    for fields in ({"timeout_s": 1}, {"timeout_s": 1, "timeout_seconds": 1}):
        assert (await asked(**fields).over()).satisfied is False
    async with refused(INVALID, "INVALID_ARGUMENT", field="timeout_s"):
        await asked(timeout_s=1, timeout_seconds=2).over()
    for seconds in (-1, 301):
        async with refused(INVALID, "INVALID_ARGUMENT", field="timeout_seconds", limit="300"):
            await asked(timeout_s=seconds).over()


async def test_nobody_to_wait_for(coordination: Coordination, chat: str, sessions: Served, results: Results) -> None:
    for session in (chat, sessions.fake.open().id):
        done = await results.wait(session).over()
        assert (done.satisfied, done.waited_for) == (True, 0)
        assert not (await results.wait(session, "ANY", seconds=1).over()).satisfied


async def test_what_is_refused_is_refused_at_once(three: str, results: Results, sessions: Served) -> None:
    for fields in (
        {"mode": "QUORUM"},
        {"mode": "QUORUM", "n": 4},
        {"mode": "QUORUM", "n": -1},
        {"mode": "ALL", "n": 1},
    ):
        async with refused(INVALID, "INVALID_ARGUMENT", field="n"):
            await results.wait(three, **fields).over()
    async with refused(INVALID, "INVALID_ARGUMENT", field="n", limit="2"):
        await results.wait(three, "QUORUM", n=3, names=["a", "b"]).over()
    for seconds in (-1, 301):
        async with refused(INVALID, "INVALID_ARGUMENT", field="timeout_seconds", limit="300"):
            await results.wait(three, seconds=seconds).over()
    async with refused(INVALID, "INVALID_NAME", field="names"):
        await results.wait(three, names=["a\n"]).over()
    async with refused(INVALID, "INVALID_ARGUMENT", field="names", limit="1000"):
        await results.wait(three, names=["a"] * 1_001).over()
    async with refused(grpc.StatusCode.NOT_FOUND, "WORKER_NOT_FOUND", thread_name="nobody"):
        await results.wait(three, names=["a", "nobody"]).over()
    async with refused(grpc.StatusCode.NOT_FOUND, "WORKER_NOT_FOUND"):
        await results.wait(three, names=["a"], by=STRANGER).over()
    async with refused(grpc.StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
        await results.wait(three, by=agent(sessions.fake.open().id)).over()
    assert (await results.wait(three, seconds=1, by=VIEWER).over()).waited_for == 3


async def test_a_worker_that_is_deleted_ends_the_wait(
    three: str, results: Results, database: Database, wake: Wake
) -> None:
    wait = results.wait(three, names=["b"])
    async with database.connection() as tx:
        await tx.raw.execute("DELETE FROM workers WHERE name = 'b'")
    await wake.committed([three], facts=False, jobs=False, duties=False)
    async with refused(grpc.StatusCode.NOT_FOUND, "WORKER_NOT_FOUND", thread_name="b"):
        await wait.over()


async def test_an_end_between_the_first_look_and_the_subscription_is_heard(
    three: str, workshop: PostgresWorkshop, database: Database, reads: PostgresReads, wake: Wake
) -> None:
    """The bell begins to listen only when the worker has ended, and its ping is gone."""

    class LateBells:
        @asynccontextmanager
        async def of_workers(self, coordinator_id: str) -> AsyncIterator[Bell]:
            await ended(workshop, coordinator_id, "a", Reason.COMPLETED)
            async with wake.of_workers(coordinator_id) as bell:
                yield bell

    roll = PostgresRoll(database, reads)
    waiting = Waiting(roll, Watches(roll, LateBells(), poll=600))
    async with asyncio.timeout(60):
        events = [one async for one in waiting.wait(PERSON, Wish(three, names=["a"]))]
    assert isinstance(events[-1], Done)
    assert events[-1].satisfied


async def test_ends_at_any_moment_are_heard(
    coordination: Coordination,
    chat: str,
    workshop: PostgresWorkshop,
    database: Database,
    reads: PostgresReads,
    wake: Wake,
    rounds: int,
) -> None:
    """A wait and an end race, many times; each is told once, and by no poll."""
    roll = PostgresRoll(database, reads)
    waiting = Waiting(roll, Watches(roll, wake, poll=600))

    async def follow(name: str) -> list[str]:
        events = [one async for one in waiting.wait(PERSON, Wish(chat, names=[name]))]
        return ["done" if isinstance(one, Done) else one.worker.name for one in events]

    for turn in range(rounds):
        name = f"w{turn}"
        await coordination.spawn(chat, spec(name))
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            following = group.create_task(follow(name))
            await asyncio.sleep(0.002 * (turn % 10))
            await ended(workshop, chat, name, Reason.COMPLETED)
        assert following.result() == [name, "done"]


async def test_while_the_bus_is_away_the_poll_finds_the_end(
    three: str, workshop: PostgresWorkshop, results: Results, nats_server: NatsServer
) -> None:
    wait = results.wait(three, names=["a"])
    await ended(workshop, three, "b", Reason.COMPLETED)
    await nats_server.kill()
    await ended(workshop, three, "a", Reason.COMPLETED)
    assert (await wait.over()).satisfied
    other = results.wait(three, names=["c"])
    await ended(workshop, three, "c", Reason.COMPLETED)
    assert (await other.over()).satisfied
    await nats_server.start()


async def test_a_drain_ends_waits_so_that_clients_come_back(
    coordination: Coordination, start_replica: StartReplica, three: str, workshop: PostgresWorkshop, results: Results
) -> None:
    wait = results.wait(three)
    await ended(workshop, three, "a", Reason.COMPLETED)
    await wait.told(1)
    other = Results(await start_replica())
    assert coordination.life is not None
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(coordination.life.drain())
        async with refused(grpc.StatusCode.UNAVAILABLE, "STREAM_DRAINING"):
            await wait.over()
    async with refused(grpc.StatusCode.UNAVAILABLE, "STREAM_DRAINING"):
        await results.wait(three).over()
    back = other.wait(three)
    for name in ("b", "c"):
        await ended(workshop, three, name, Reason.COMPLETED)
    assert (await back.over()).satisfied
    assert back.names == ["a", "b", "c"]


async def test_a_client_that_goes_leaves_nothing_behind(
    three: str, workshop: PostgresWorkshop, database: Database, reads: PostgresReads, wake: Wake
) -> None:
    roll = PostgresRoll(database, reads)
    watches = Watches(roll, wake)
    waiting = Waiting(roll, watches)

    async def follow() -> None:
        async for _ in waiting.wait(PERSON, Wish(three)):
            pass

    tasks = [asyncio.create_task(follow()) for _ in range(5)]
    await until(lambda: _is(watches.count == 1))
    for task in tasks[:4]:
        task.cancel()
    await asyncio.wait(tasks[:4])
    await until(lambda: _is(watches.count == 1))  # the fifth may not have come before
    tasks[4].cancel()
    await asyncio.wait(tasks)
    assert watches.count == 0


async def test_a_call_that_is_cancelled_ends_here_too(three: str, workshop: PostgresWorkshop, results: Results) -> None:
    await ended(workshop, three, "a", Reason.COMPLETED)
    waits = [results.wait(three) for _ in range(20)]
    for wait in waits:
        await wait.told(1)
    under_way = telemetry.RPC_OPEN.labels("treadle.coordination.v1.CoordinationService", "WaitWorkers")
    assert under_way._value.get() == 20
    for wait in waits:
        await wait.cancel()
    await until(lambda: _is(under_way._value.get() == 0))


async def test_many_waits_on_one_coordinator_hold_no_connection(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, database: Database, results: Results
) -> None:
    """Three hundred at once; each end is looked up once, and all are told within a moment."""
    await coordination.spawn(chat, *(spec(f"w{n}") for n in range(10)))
    waits = [results.wait(chat, seconds=60) for _ in range(300)]
    await ended(workshop, chat, "w0", Reason.COMPLETED)
    for wait in waits:
        await wait.told(1)

    async def idle() -> bool:
        async with database.connection() as tx:
            busy: int = await tx.raw.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'treadle coordination'"
                " AND datname = current_database() AND state <> 'idle'"
            )
        return busy == 0

    await until(idle)
    assert (await coordination.workers(chat)).ok, "others are served meanwhile"
    await asyncio.gather(*(ended(workshop, chat, f"w{n}", Reason.COMPLETED) for n in range(1, 10)))
    for wait in waits:
        assert (await wait.over(60)).satisfied
        assert sorted(wait.names) == sorted(f"w{n}" for n in range(10))


async def _is(holds: bool) -> bool:
    return holds


async def test_two_replicas_hear_of_each_others_ends(
    coordination: Coordination, start_replica: StartReplica, three: str, database: Database, workshop: PostgresWorkshop
) -> None:
    other = Results(await start_replica())
    waits: list[Wait] = [other.wait(three, "ANY"), Results(coordination).wait(three, "ANY")]
    await taken(workshop, database, three, "a")
    await coordination.cancel(three, "b")
    for wait in waits:
        assert (await wait.over()).satisfied
        assert wait.names == ["b"]
