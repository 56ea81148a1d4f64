"""Reports that agents hand in themselves: who may, interim and final, once, and never over an end (C.4)."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.domain.limits import INTERIM_REPORTS_MOST, REPORT_BYTES
from services.coordination.domain.worker import Reason
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, STRANGER, VIEWER, Coordination, agent, refused, spec
from tests.integration.coordination.conftest import Served
from tests.integration.coordination.results_client import Results
from tests.integration.coordination.runner_client import Runner, facts, reports_of, session_of
from tests.integration.coordination.runs import ended
from treadle.coordination.v1 import coordination_service_pb2 as pb

DENIED = grpc.StatusCode.PERMISSION_DENIED
W = pb.Worker


@pytest.fixture
def results(coordination: Coordination) -> Results:
    """What is said about results."""
    return Results(coordination)


@pytest.fixture
def runner(coordination: Coordination) -> Runner:
    """A runner."""
    return Runner(coordination.channel)


async def test_a_registered_worker_reports_and_ends_itself(
    coordination: Coordination, chat: str, sessions: Served, database: Database, results: Results
) -> None:
    its = sessions.fake.open().id
    await coordination.register(chat, "alpha", its)
    first = await results.report(its, "alpha", "half\n\n## Result\nso far")
    assert (first.version, first.thread.status, first.thread.has_result, first.thread.partial) == (
        1,
        W.STATUS_RUNNING,
        True,
        True,
    )
    assert first.thread.result == "so far"
    wait = results.wait(chat)
    last = await results.report(its, "", "all\n\n## Result\nthe whole", final=True)
    assert (last.version, last.thread.status, last.thread.reason, last.thread.partial) == (
        2,
        W.STATUS_SUCCEEDED,
        "completed",
        False,
    )
    assert (await wait.over()).satisfied
    assert (await results.collect(chat, "alpha")).result == "the whole"
    assert [one[:3] for one in await reports_of(database, "alpha")] == [(1, False, True), (2, True, False)]
    assert [(one["kind"], one["to"], one["actor"]) for one in (await facts(database))[-2:]] == [
        ("reported", "running", f"agent:{its}"),
        ("ended", "succeeded", f"agent:{its}"),
    ]
    for final in (False, True):
        async with refused(grpc.StatusCode.ABORTED, "WORKER_ENDED", status="succeeded", reason="completed"):
            await results.report(its, "alpha", "more", final=final)
    assert len(await reports_of(database, "alpha")) == 2


async def test_a_managed_workers_agent_reports_in_between_and_no_more(
    coordination: Coordination, chat: str, runner: Runner, results: Results, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    own = session_of(job)
    assert (await results.report(own, "alpha", "so far")).version == 1
    async with refused(grpc.StatusCode.FAILED_PRECONDITION, "WORKER_MANAGED"):
        await results.report(own, "alpha", "all", final=True)
    async with refused(grpc.StatusCode.FAILED_PRECONDITION, "WORKER_MANAGED"):
        await results.report(chat, "alpha", "what its coordinator thinks")
    assert (await results.report(chat, "alpha", "a person's word", by=PERSON)).version == 2
    assert await runner.report(job, "the runner's word") == 3
    await runner.complete(job, "completed", "the end")
    assert [one[0] for one in await reports_of(database, "alpha")] == [1, 2, 3, 4]
    async with refused(grpc.StatusCode.ABORTED, "WORKER_ENDED"):
        await results.report(own, "alpha", "late")


async def test_who_may_report(coordination: Coordination, chat: str, sessions: Served, results: Results) -> None:
    its, other = sessions.fake.open().id, sessions.fake.open().id
    await coordination.register(chat, "alpha", its)
    await coordination.register(chat, "beta", other)
    async with refused(DENIED, "NOT_YOURS"):
        await results.report(its, "beta", "for a sibling")
    async with refused(DENIED, "NOT_YOURS"):
        await results.report(chat, "alpha", "by a stranger's agent", by=agent(other))
    async with refused(DENIED, "ROLE_REQUIRED"):
        await results.report(chat, "alpha", "x", by=VIEWER)
    async with refused(grpc.StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await results.report(chat, "alpha", "x", by=STRANGER)
    async with refused(grpc.StatusCode.NOT_FOUND, "WORKER_NOT_FOUND", thread_name="gamma"):
        await results.report(chat, "gamma", "x")
    assert (await results.report(chat, "alpha", "relayed by its coordinator")).version == 1
    assert (await results.report(its, "alpha", "its own")).version == 2


async def test_pub21_the_limit_of_a_report_counts_bytes_and_is_told(
    coordination: Coordination, chat: str, results: Results, database: Database
) -> None:
    await coordination.register(chat, "alpha", "ext-1")
    whole = "é" * (REPORT_BYTES // 2)
    assert (await results.report(chat, "alpha", whole)).thread.result_length == REPORT_BYTES // 2
    async with refused(
        grpc.StatusCode.RESOURCE_EXHAUSTED, "VALUE_TOO_LARGE", field="text", limit=str(REPORT_BYTES)
    ) as answer:
        await results.report(chat, "alpha", whole + "x")
    assert str(REPORT_BYTES) in answer.message
    for blank in ("", "  \n\t "):
        async with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="text"):
            await results.report(chat, "alpha", blank)
    assert [(one[0], len(one[3])) for one in await reports_of(database, "alpha")] == [(1, REPORT_BYTES // 2)]
    assert "".join(page.result for page in await results.pages(chat, "alpha")) == whole


async def test_a_request_counts_once(
    coordination: Coordination, chat: str, results: Results, database: Database
) -> None:
    await coordination.register(chat, "alpha", "ext-1")
    twice = await asyncio.gather(*(results.report(chat, "alpha", "same", request_id="r1") for _ in range(8)))
    assert {one.version for one in twice} == {1}
    ends = [await results.report(chat, "alpha", "end", final=True, request_id="r2") for _ in range(2)]
    assert [(one.version, one.thread.status) for one in ends] == [(2, W.STATUS_SUCCEEDED)] * 2
    async with refused(grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED"):
        await results.report(chat, "alpha", "another", request_id="r1")
    assert len(await reports_of(database, "alpha")) == 2


async def test_reports_and_ends_at_once_keep_every_version(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, results: Results, database: Database
) -> None:
    await coordination.register(chat, "alpha", "ext-1")

    async def report(number: int) -> bool:
        try:
            await results.report(chat, "alpha", f"report {number}")
        except grpc.aio.AioRpcError as error:
            if "has ended" not in (error.details() or ""):
                raise
            return False
        return True

    outcomes = await asyncio.gather(
        *(report(number) for number in range(10)), ended(workshop, chat, "alpha", Reason.FAILED, "the end")
    )
    kept = await reports_of(database, "alpha")
    assert [one[0] for one in kept] == list(range(1, len(kept) + 1))
    assert len(kept) == sum(one is True for one in outcomes) + 1
    assert (kept[-1][1], kept[-1][3]) == (True, "the end")
    worker = await coordination.worker(chat, "alpha")
    assert (worker.status, worker.result_version) == (W.STATUS_FAILED, len(kept))


async def test_a_stop_that_was_asked_for_keeps_the_text(
    coordination: Coordination, chat: str, runner: Runner, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await results.report(session_of(job), "alpha", "before the stop")
    await coordination.cancel(chat, "alpha")
    await runner.complete(job, "cancelled")
    answer = await results.collect(chat, "alpha")
    assert (answer.status, answer.reason, answer.partial, answer.result) == (
        W.STATUS_CANCELLED,
        "cancelled",
        True,
        "before the stop",
    )


async def test_there_is_an_end_to_reports_in_between_and_the_last_one_is_still_taken(
    coordination: Coordination, chat: str, sessions: Served, database: Database, results: Results, runner: Runner
) -> None:
    its = sessions.fake.open().id
    await coordination.register(chat, "alpha", its)
    await coordination.spawn(chat, spec("beta"))
    (job,) = await runner.claim()
    for number in range(INTERIM_REPORTS_MOST):
        told = await results.report(its, "", f"{number}", request_id=f"r-{number}")
        assert told.version == await runner.report(job, f"{number}") == number + 1
    exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
    async with refused(exhausted, "TOO_MANY_REPORTS", limit=str(INTERIM_REPORTS_MOST)):
        await results.report(its, "", "one more")
    async with refused(exhausted, "TOO_MANY_REPORTS", limit=str(INTERIM_REPORTS_MOST)):
        await runner.report(job, "one more")
    repeated = f"{INTERIM_REPORTS_MOST - 1}"
    assert (await results.report(its, "", repeated, request_id=f"r-{repeated}")).version == INTERIM_REPORTS_MOST
    assert await runner.report(job, repeated) == INTERIM_REPORTS_MOST
    assert (await results.report(its, "", "the last", final=True)).version == INTERIM_REPORTS_MOST + 1
    await runner.complete(job, text="the last")
    for name in ("alpha", "beta"):
        assert len(await reports_of(database, name)) == INTERIM_REPORTS_MOST + 1
        assert (await results.collect(chat, name)).result == "the last"
