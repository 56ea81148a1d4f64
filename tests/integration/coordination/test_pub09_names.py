"""PUB09: two spawns with the same name. The index decides, and the loser is told."""

from __future__ import annotations

import asyncio

import pytest
from grpc import StatusCode

from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.domain.worker import Reason
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, Coordination, refused, spec
from tests.integration.coordination.conftest import Served, StartReplica
from tests.integration.coordination.runs import ended, taken
from treadle.coordination.v1 import coordination_service_pb2 as pb


async def test_pub09_one_name_on_two_replicas_has_one_row_and_the_winners_brief(
    start_replica: StartReplica, sessions: Served, database: Database, rounds: int
) -> None:
    replicas = await start_replica(), await start_replica()
    for number in range(rounds):
        session = sessions.fake.open().id
        await replicas[0].flag(session)
        answers = await asyncio.gather(
            *(
                replica.spawn(session, spec("alpha", f"brief {place}"), spec(f"own{place}"))
                for place, replica in enumerate(replicas)
            )
        )
        won = [place for place, answer in enumerate(answers) if answer[0].ok]
        assert len(won) == 1, (number, answers)
        assert answers[1 - won[0]][0].code == "name_taken"
        assert all(answer[1].ok for answer in answers)
        workers = {one.name: one for one in (await replicas[number % 2].workers(session)).threads}
        assert set(workers) == {"alpha", "own0", "own1"}
        assert workers["alpha"].brief == f"brief {won[0]}"
        assert workers["alpha"].id == answers[won[0]][0].subagent_id
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT count(*) FROM jobs") == 3 * rounds


async def test_pub09_a_registration_and_a_spawn_of_one_name_at_once(
    start_replica: StartReplica, sessions: Served, rounds: int
) -> None:
    replicas = await start_replica(), await start_replica()
    session = sessions.fake.open().id
    await replicas[0].flag(session)
    for number in range(rounds):
        name = f"w{number}"
        spawned, registered = await asyncio.gather(
            replicas[0].spawn(session, spec(name)),
            replicas[1].register(session, name, f"ses_{number}"),
            return_exceptions=True,
        )
        assert not isinstance(spawned, BaseException)
        lost = isinstance(registered, BaseException)
        assert spawned[0].ok is lost
        assert lost or spawned[0].code == "name_taken"
        worker = await replicas[0].worker(session, name)
        assert (worker.kind == pb.Worker.KIND_SUBAGENT) is lost
        await replicas[0].cancel(session, name)


async def test_pub09_the_same_name_in_two_coordinators(coordination: Coordination, sessions: Served) -> None:
    one, other = sessions.fake.open().id, sessions.fake.open().id
    for session in (one, other):
        await coordination.flag(session)
        (spawned,) = await coordination.spawn(session, spec("alpha", f"of {session}"))
        assert spawned.ok
    for session in (one, other):
        assert (await coordination.worker(session, "alpha")).brief == f"of {session}"


async def test_pub09_a_batch_that_names_alpha_twice(coordination: Coordination, chat: str) -> None:
    answer = await coordination.spawn(chat, spec("alpha", "one"), spec("alpha", "two"))
    assert [one.ok for one in answer] == [True, False]
    assert [one.brief for one in (await coordination.workers(chat)).threads] == ["one"]


async def test_pub09_a_batch_of_five_whose_third_collides(
    coordination: Coordination, chat: str, database: Database
) -> None:
    await coordination.spawn(chat, spec("c", "the first c"))
    answer = await coordination.spawn(chat, *(spec(name) for name in "abcde"))
    assert [(one.ok, one.code) for one in answer] == [
        (True, ""),
        (True, ""),
        (False, "name_taken"),
        (True, ""),
        (True, ""),
    ]
    workers = {one.name: one.brief for one in (await coordination.workers(chat)).threads}
    assert workers == {"a": "do a", "b": "do b", "c": "the first c", "d": "do d", "e": "do e"}
    async with database.connection() as tx:
        jobs, facts = (
            await tx.raw.fetchval("SELECT count(*) FROM jobs"),
            await tx.raw.fetchval("SELECT count(*) FROM outbox"),
        )
    assert (jobs, facts) == (5, 6)


@pytest.mark.parametrize("by_a_runner", [False, True])
async def test_pub09_a_name_whose_launch_failed_is_free_again(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, database: Database, by_a_runner: bool
) -> None:
    (first,) = await coordination.spawn(chat, spec("alpha"))
    if by_a_runner:
        await taken(workshop, database, chat, "alpha")
    await ended(workshop, chat, "alpha", Reason.LAUNCH_FAILED)
    assert (await coordination.worker(chat, "alpha")).reason == "launch_failed"
    (again,) = await coordination.spawn(chat, spec("alpha", "second try"))
    assert again.ok
    assert again.subagent_id != first.subagent_id
    worker = await coordination.worker(chat, "alpha")
    assert (worker.status, worker.brief, worker.id) == (pb.Worker.STATUS_SPAWNING, "second try", again.subagent_id)


@pytest.mark.parametrize("reason", [one for one in Reason if one is not Reason.LAUNCH_FAILED])
async def test_pub09_a_name_that_ended_otherwise_stays_taken(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, reason: Reason
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await ended(workshop, chat, "alpha", reason, "x")
    (again,) = await coordination.spawn(chat, spec("alpha"))
    assert again.code == "name_taken"
    async with refused(StatusCode.ALREADY_EXISTS, "NAME_TAKEN"):
        await coordination.register(chat, "alpha", "ses_w", by=PERSON)


async def test_pub09_a_failed_launch_that_left_text_keeps_its_name(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await ended(workshop, chat, "alpha", Reason.LAUNCH_FAILED, "it said something")
    (again,) = await coordination.spawn(chat, spec("alpha"))
    assert again.code == "name_taken"
    assert (await coordination.worker(chat, "alpha")).result == "it said something"
