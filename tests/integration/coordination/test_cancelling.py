"""Stopping a worker, and statuses that come from outside: ends stay (A2, C.3, A9-18)."""

from __future__ import annotations

import asyncio

import grpc
import orjson
import pytest
from grpc import StatusCode

from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.domain.worker import Reason, Status, may_follow
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, VIEWER, Coordination, agent, refused, spec
from tests.integration.coordination.runs import ended, taken
from treadle.coordination.v1 import coordination_service_pb2 as pb


async def state_of_job(database: Database) -> tuple[str, bool]:
    async with database.connection() as tx:
        (row,) = await tx.raw.fetch("SELECT state, cancel_requested FROM jobs")
    return row["state"], row["cancel_requested"]


async def test_one_that_nobody_has_taken_is_cancelled_at_once(
    coordination: Coordination, chat: str, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    worker = await coordination.cancel(chat, "alpha", by=agent(chat), reason="not needed")
    assert (worker.status, worker.reason) == (pb.Worker.STATUS_CANCELLED, "cancelled")
    assert worker.cancel_reason == "not needed"
    assert worker.HasField("end_time")
    assert await state_of_job(database) == ("cancelled", True)
    async with refused(StatusCode.ABORTED, "WORKER_ENDED", status="cancelled", reason="cancelled"):
        await coordination.cancel(chat, "alpha")


async def test_one_that_a_runner_has_is_asked_once(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await taken(workshop, database, chat, "alpha")
    for _ in range(3):
        worker = await coordination.cancel(chat, "alpha")
        assert (worker.status, worker.cancel_requested) == (pb.Worker.STATUS_RUNNING, True)
    assert await state_of_job(database) == ("leased", True)
    async with database.connection() as tx:
        rows = await tx.raw.fetch("SELECT payload FROM outbox")
    assert [orjson.loads(row["payload"])["kind"] for row in rows].count("cancel_requested") == 1
    await ended(workshop, chat, "alpha", Reason.COMPLETED, "faster")
    worker = await coordination.worker(chat, "alpha")
    assert (worker.status, worker.result) == (pb.Worker.STATUS_SUCCEEDED, "faster")


async def test_the_words_of_whoever_cancelled_first_are_kept_and_shown(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await taken(workshop, database, chat, "alpha")
    worst = "\U0001f468" * 500
    for reason in ("x" * 501, "a\0b"):
        async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="reason"):
            await coordination.cancel(chat, "alpha", reason=reason)
    assert not (await coordination.worker(chat, "alpha")).cancel_requested
    assert (await coordination.cancel(chat, "alpha", reason=f" {worst}\n")).cancel_reason == worst
    assert (await coordination.cancel(chat, "alpha", reason="later words")).cancel_reason == worst
    await ended(workshop, chat, "alpha", Reason.CANCELLED)
    (listed,) = (await coordination.roster(chat)).threads
    assert (listed.status, listed.cancel_reason) == (pb.Worker.STATUS_CANCELLED, worst)


async def test_a_registered_one_is_cancelled_at_once(coordination: Coordination, chat: str) -> None:
    await coordination.register(chat, "alpha", "ses_w")
    assert (await coordination.cancel(chat, "alpha")).status == pb.Worker.STATUS_CANCELLED


async def test_a_cancelled_name_stays_taken(coordination: Coordination, chat: str) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await coordination.cancel(chat, "alpha")
    (one,) = await coordination.spawn(chat, spec("alpha"))
    assert one.code == "name_taken"


async def test_what_is_not_there_is_not_found_and_what_is_wrong_is_refused(
    coordination: Coordination, chat: str
) -> None:
    async with refused(StatusCode.NOT_FOUND, "WORKER_NOT_FOUND", thread_name="alpha"):
        await coordination.cancel(chat, "alpha")
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.cancel("ses_none", "alpha")
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="reason", limit="500"):
        await coordination.cancel(chat, "alpha", reason="x" * 501)
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_NAME", field="thread_name"):
        await coordination.cancel(chat, "")


async def test_a_worker_cancels_nobody(coordination: Coordination, chat: str) -> None:
    await coordination.register(chat, "alpha", "ses_w")
    async with refused(StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
        await coordination.cancel(chat, "alpha", by=agent("ses_w"))
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.cancel("ses_w", "alpha", by=agent("ses_w"))
    async with refused(StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED"):
        await coordination.cancel(chat, "alpha", by=VIEWER)


async def test_the_same_request_cancels_once(coordination: Coordination, chat: str) -> None:
    await coordination.spawn(chat, spec("alpha"))
    first = await coordination.cancel(chat, "alpha", request_id="r1")
    assert await coordination.cancel(chat, "alpha", request_id="r1") == first


async def test_a9_18_with_thread_mode_off_stops_and_statuses_still_land(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    await coordination.register(chat, "gamma", "ses_w")
    await taken(workshop, database, chat, "beta")
    await coordination.flag(chat, enabled=False)
    assert (await coordination.cancel(chat, "alpha")).status == pb.Worker.STATUS_CANCELLED
    assert (await coordination.cancel(chat, "beta")).cancel_requested
    await ended(workshop, chat, "beta", Reason.CANCELLED)
    assert (await coordination.status(chat, "gamma", "succeeded")).status == pb.Worker.STATUS_SUCCEEDED
    statuses = [one.status for one in (await coordination.workers(chat)).threads]
    assert statuses == [pb.Worker.STATUS_CANCELLED, pb.Worker.STATUS_CANCELLED, pb.Worker.STATUS_SUCCEEDED]


async def test_every_command_on_every_status_of_a_registered_worker(coordination: Coordination) -> None:
    settable = [one for one in Status if one is not Status.SPAWNING]
    for number, start in enumerate(settable):
        for to in settable:
            session, worker = f"ses_{number}_{to}", f"wrk_{number}_{to}"
            await coordination.register(session, "alpha", worker)
            if start is not Status.RUNNING:
                await coordination.status(session, "alpha", start.value)
            if to is start or may_follow(start, to):
                answer = await coordination.status(session, "alpha", to.value)
                assert answer.status == pb.Worker.Status.Value(f"STATUS_{to.upper()}")
            else:
                async with refused(StatusCode.ABORTED, "WORKER_ENDED", status=start.value):
                    await coordination.status(session, "alpha", to.value)
                assert (await coordination.worker(session, "alpha")).status == pb.Worker.Status.Value(
                    f"STATUS_{start.upper()}"
                )


async def test_a_worker_sets_its_own_status_and_only_that(coordination: Coordination, chat: str) -> None:
    await coordination.register(chat, "alpha", "ses_w")
    await coordination.register(chat, "beta", "ses_v")
    assert (await coordination.status("ses_w", "alpha", "unknown", by=agent("ses_w"))).name == "alpha"
    async with refused(StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
        await coordination.status("ses_w", "beta", "failed", by=agent("ses_w"))
    async with refused(StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
        await coordination.status(chat, "alpha", "failed", by=agent("ses_w"))


async def test_a_managed_workers_status_is_not_set_from_outside(coordination: Coordination, chat: str) -> None:
    await coordination.spawn(chat, spec("alpha"))
    async with refused(StatusCode.FAILED_PRECONDITION, "WORKER_MANAGED", worker_kind="subagent"):
        await coordination.status(chat, "alpha", "succeeded")


@pytest.mark.parametrize("status", ["unspecified", "spawning"])
async def test_statuses_that_nobody_sets_are_refused(coordination: Coordination, chat: str, status: str) -> None:
    await coordination.register(chat, "alpha", "ses_w")
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="status"):
        await coordination.status(chat, "alpha", status)


async def test_a_status_is_told_as_a_fact_once(coordination: Coordination, chat: str, database: Database) -> None:
    await coordination.register(chat, "alpha", "ses_w")
    for status in ("running", "unknown", "unknown", "running", "failed", "failed"):
        await coordination.status(chat, "alpha", status)
    async with database.connection() as tx:
        rows = await tx.raw.fetch("SELECT payload FROM outbox ORDER BY id")
    told = [orjson.loads(row["payload"]) for row in rows][1:]
    assert [(one["kind"], one["from"], one["to"]) for one in told] == [
        ("registered", "", "running"),
        ("unknown", "running", "unknown"),
        ("running", "unknown", "running"),
        ("ended", "running", "failed"),
    ]


async def test_of_many_ends_at_once_one_counts(coordination: Coordination, chat: str, rounds: int) -> None:
    for number in range(rounds):
        name = f"w{number}"
        await coordination.register(chat, name, f"ses_{number}")
        ends = ["succeeded", "failed", "interrupted", "cancelled"]
        answers = await asyncio.gather(
            *(coordination.status(chat, name, end) for end in ends),
            coordination.cancel(chat, name, by=PERSON),
            return_exceptions=True,
        )
        won = [one for one in answers if isinstance(one, pb.Worker)]
        lost = [one for one in answers if isinstance(one, grpc.aio.AioRpcError)]
        assert len(won) + len(lost) == 5, answers
        assert all(one.code() is StatusCode.ABORTED for one in lost)
        assert len({one.status for one in won}) == 1
        assert (await coordination.worker(chat, name)).status == won[0].status
