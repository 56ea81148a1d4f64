"""Sessions that run elsewhere, registered as workers (A6, A9-22, A9-29)."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from grpc import StatusCode

from services.coordination.adapters.job_rows import PostgresRunWorkshop
from services.coordination.adapters.wake import Wake
from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.application.hearing import Hearing
from services.kernel.clock import SystemClock
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, Coordination, agent, refused, spec
from tests.integration.coordination.rows import NOW, TENANT
from treadle.coordination.v1 import coordination_service_pb2 as pb


async def test_a_registered_worker_runs_and_its_coordinator_is_made(coordination: Coordination) -> None:
    worker = await coordination.register("ses_a", "alpha", "ses_w", brief="  watch the build \n")
    assert (worker.name, worker.kind, worker.status) == ("alpha", pb.Worker.KIND_SESSION, pb.Worker.STATUS_RUNNING)
    assert (worker.brief, worker.coordinator_session_id) == ("watch the build", "ses_a")
    assert worker.ids.worker_session_id == "ses_w"
    assert not worker.ids.HasField("subagent_id")
    assert not worker.ids.HasField("subagent_session_id")
    assert not worker.HasField("result")
    roster = await coordination.roster("ses_a")
    assert roster.enabled
    assert list(roster.threads) == [worker]


async def test_a_flag_that_is_off_stays_off(coordination: Coordination) -> None:
    await coordination.flag("ses_a", enabled=False)
    await coordination.register("ses_a", "alpha", "ses_w")
    assert not (await coordination.roster("ses_a")).enabled


async def test_a9_22_a_name_twice_is_taken_whatever_the_brief(coordination: Coordination) -> None:
    first = await coordination.register("ses_a", "alpha", "ses_w")
    async with refused(StatusCode.ALREADY_EXISTS, "NAME_TAKEN", thread_name="alpha"):
        await coordination.register("ses_a", "alpha", "ses_v", brief="other")
    assert list((await coordination.roster("ses_a")).threads) == [first]


async def test_a9_22_a_session_is_one_worker_here_and_under_another_coordinator(coordination: Coordination) -> None:
    await coordination.register("ses_a", "alpha", "ses_w")
    for of in ("ses_a", "ses_b"):
        async with refused(StatusCode.ALREADY_EXISTS, "WORKER_ALREADY_REGISTERED", worker_session_id="ses_w"):
            await coordination.register(of, "beta", "ses_w")
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.roster("ses_b")


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"name": "W1"}, "INVALID_NAME", "name"),
        ({"name": "w1\n"}, "INVALID_NAME", "name"),
        ({"name": ""}, "INVALID_NAME", "name"),
        ({"brief": " \n"}, "BRIEF_REQUIRED", "brief"),
        ({"brief": "b" * 4_001}, "INVALID_ARGUMENT", "brief"),
        ({"brief": "b\0"}, "INVALID_ARGUMENT", "brief"),
        ({"worker": ""}, "INVALID_ARGUMENT", "worker_session_id"),
        ({"worker": "a\tb"}, "INVALID_ARGUMENT", "worker_session_id"),
        ({"worker": "ses_a"}, "INVALID_ARGUMENT", "worker_session_id"),
        ({"session": "x" * 257}, "INVALID_ARGUMENT", "coordinator_session_id"),
    ],
)
async def test_a9_22_what_is_wrong_is_refused_by_its_field(
    coordination: Coordination, fields: dict[str, Any], reason: str, field: str
) -> None:
    values: dict[str, Any] = {"session": "ses_a", "name": "alpha", "worker": "ses_w", "brief": "watch", **fields}
    async with refused(StatusCode.INVALID_ARGUMENT, reason, field=field):
        await coordination.register(**values)
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.roster("ses_a")


async def test_a9_29_odd_ids_do_not_collide(coordination: Coordination) -> None:
    await coordination.register("worker:x", "alpha", "x")
    await coordination.flag("y")
    odd = await coordination.roster("worker:x")
    assert [one.ids.worker_session_id for one in odd.threads] == ["x"]
    assert (await coordination.note("x", "mine")).note_count == 1
    assert (await coordination.roster("worker:x")).threads[0].note_count == 1
    assert not (await coordination.roster("y")).threads
    longest = "ä/" * 128
    assert (await coordination.register(longest, "alpha", "z")).coordinator_session_id == longest


async def test_no_chain_of_coordinators_comes_into_being(
    coordination: Coordination, workshop: PostgresWorkshop
) -> None:
    await coordination.register("ses_a", "alpha", "ses_w")
    async with refused(StatusCode.FAILED_PRECONDITION, "DEPTH_EXCEEDED"):
        await coordination.register("ses_w", "beta", "ses_v")
    async with refused(StatusCode.FAILED_PRECONDITION, "DEPTH_EXCEEDED"):
        await coordination.register("ses_top", "gamma", "ses_a")
    await coordination.flag("ses_idle")
    await coordination.register("ses_top", "gamma", "ses_idle")


async def test_two_that_would_coordinate_each_other_are_told_apart(coordination: Coordination, rounds: int) -> None:
    for number in range(rounds):
        a, b = f"ses_a{number}", f"ses_b{number}"
        both = await asyncio.gather(
            coordination.register(a, "alpha", b), coordination.register(b, "alpha", a), return_exceptions=True
        )
        lost = [one for one in both if isinstance(one, grpc.aio.AioRpcError)]
        assert len(lost) == 1, both
        assert lost[0].code() is StatusCode.FAILED_PRECONDITION


async def test_deleted_sessions_are_not_found(coordination: Coordination, workshop: PostgresWorkshop) -> None:
    async with workshop.work() as work:
        await work.note_session_deleted(TENANT, "ses_gone", NOW)
    async with refused(StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", session="ses_gone"):
        await coordination.register("ses_gone", "alpha", "ses_w")
    async with refused(StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", session="ses_gone"):
        await coordination.register("ses_a", "alpha", "ses_gone")
    async with refused(StatusCode.NOT_FOUND, "SESSION_NOT_FOUND"):
        await coordination.flag("ses_gone")


async def test_a_session_that_is_deleted_while_it_is_registered_leaves_no_worker_at_work(
    coordination: Coordination, database: Database, wake: Wake, rounds: int
) -> None:
    workshop, hearing = PostgresRunWorkshop(database, wake), Hearing(SystemClock())

    async def delete(session: str) -> None:
        async with workshop.work() as work:
            await hearing.hear(work, TENANT, {"kind": "deleted", "session_id": session})

    for number in range(rounds):
        session = f"ses_{number}"
        registered, _ = await asyncio.gather(
            coordination.register("ses_a", f"w{number}", session), delete(session), return_exceptions=True
        )
        if isinstance(registered, grpc.aio.AioRpcError):
            assert registered.code() is StatusCode.NOT_FOUND
        else:
            assert (await coordination.worker("ses_a", f"w{number}")).status == pb.Worker.STATUS_INTERRUPTED


async def test_the_same_request_registers_once(coordination: Coordination) -> None:
    first = await coordination.register("ses_a", "alpha", "ses_w", request_id="r1")
    assert await coordination.register("ses_a", "alpha", "ses_w", request_id="r1") == first
    async with refused(StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED"):
        await coordination.register("ses_a", "alpha", "ses_w", brief="other", request_id="r1")


async def test_registering_is_a_persons(coordination: Coordination) -> None:
    async with refused(StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED"):
        await coordination.register("ses_a", "alpha", "ses_w", by=agent("ses_a"))


async def test_a_registered_and_a_spawned_worker_share_names(coordination: Coordination, chat: str) -> None:
    await coordination.spawn(chat, spec("alpha"))
    async with refused(StatusCode.ALREADY_EXISTS, "NAME_TAKEN"):
        await coordination.register(chat, "alpha", "ses_w", by=PERSON)
    await coordination.register(chat, "beta", "ses_w")
    (one,) = await coordination.spawn(chat, spec("beta"))
    assert (one.ok, one.code) == (False, "name_taken")
