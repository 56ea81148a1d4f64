"""Runners take workers over JobService: claims, heartbeats, reports and ends, repeated, late and foreign."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from services.coordination.domain.limits import REPORT_BYTES
from services.kernel.clock import SystemClock
from services.kernel.postgres import Database
from services.kernel.principal import Authenticator, Principal
from tests.integration.coordination.client import (
    PERSON,
    SECRET,
    Coordination,
    agent,
    refused,
    spec,
)
from tests.integration.coordination.conftest import Served, StartReplica
from tests.integration.coordination.runner_client import (
    Runner,
    facts,
    lose,
    name_of,
    payload_of,
    reports_of,
    row_of,
    session_of,
    until,
)
from treadle.coordination.v1 import coordination_service_pb2 as pb

ABORTED = grpc.StatusCode.ABORTED
INVALID = grpc.StatusCode.INVALID_ARGUMENT
W = pb.Worker


@pytest.fixture
def runner(coordination: Coordination) -> Runner:
    """A runner."""
    return Runner(coordination.channel)


async def test_a_claim_tells_all_that_a_runner_needs(coordination: Coordination, chat: str, runner: Runner) -> None:
    await coordination.spawn(chat, spec("alpha", "look it up", provider="p", model="m", adapter="pi"))
    (job,) = await runner.claim()
    worker = await coordination.worker(chat, "alpha")
    body = payload_of(job)
    token = body.pop("agent_token")
    assert body == {
        "worker_id": worker.id,
        "name": "alpha",
        "coordinator_session_id": chat,
        "title": "Thread: alpha",
        "prompt": "look it up",
        "adapter": "pi",
        "provider": "p",
        "model": "m",
        "thinking": "medium",
    }
    assert (job.tenant, job.fence, job.attempt) == ("default", 1, 1)
    assert worker.status == W.STATUS_RUNNING
    assert worker.ids.subagent_session_id == session_of(job)
    bearer = Authenticator(SECRET, SystemClock()).authenticate(f"Bearer {token}")
    assert bearer == agent(session_of(job))


async def test_a_claim_that_waits_hears_of_a_spawn(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    waiting = asyncio.create_task(runner.claim(wait=20))
    await asyncio.sleep(0.1)
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await waiting
    told = [(one["kind"], one["from"], one["to"]) for one in await facts(database) if one["kind"] != "flag"]
    assert told == [("spawned", "", "spawning"), ("running", "spawning", "running")]
    assert name_of(job) == "alpha"


async def test_a_claim_without_work_ends_in_time_and_a_drain_ends_it_at_once(
    coordination: Coordination, runner: Runner
) -> None:
    assert await runner.claim(wait=0) == []
    assert await runner.claim(wait=0.1) == []
    waiting = asyncio.create_task(runner.claim(wait=30))
    await asyncio.sleep(0.1)
    assert coordination.life is not None
    await coordination.life.drain()
    async with asyncio.timeout(30):
        assert await waiting == []


async def test_pub08_a_repeated_claim_answers_the_same_leases(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    first = await runner.claim(most=2, claim_id="c-1")
    again = await runner.claim(most=2, claim_id="c-1")
    assert {(one.id, one.fence) for one in again} == {(one.id, one.fence) for one in first}
    assert len(first) == 2
    assert (await row_of(database, "alpha"))["launches"] == 1
    assert await runner.claim(wait=0) == []


async def test_thirty_two_workers_are_taken_once_each_by_many_claims_on_two_replicas(
    coordination: Coordination, chat: str, start_replica: StartReplica
) -> None:
    other = await start_replica()
    await coordination.spawn(chat, *(spec(f"w{n}") for n in range(32)))
    runners = [Runner(one.channel, f"r{n}") for n in range(4) for one in (coordination, other)]
    taken: list[str] = []

    async def take(one: Runner) -> None:
        while jobs := await one.claim(most=3, wait=0.5):
            taken.extend(name_of(job) for job in jobs)

    await asyncio.gather(*(take(one) for one in runners))
    assert sorted(taken) == sorted(f"w{n}" for n in range(32))


async def test_the_end_is_stored_once_and_told_by_one_fact(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.beat(job, said=True, tokens=5)
    await runner.complete(job, text="Well.\n\n## Result\n\nforty-two\n", tokens=12)
    await runner.complete(job, text="Well.\n\n## Result\n\nforty-two\n", tokens=12)
    await runner.complete(job, "failed", text="another story")
    worker = await coordination.worker(chat, "alpha")
    assert (worker.status, worker.reason) == (W.STATUS_SUCCEEDED, "completed")
    assert (worker.has_result, worker.partial, worker.result) == (True, False, "forty-two")
    assert await reports_of(database, "alpha") == [(1, True, False, "Well.\n\n## Result\n\nforty-two\n")]
    ended = await facts(database, "ended")
    assert [(one["to"], one["reason"], one["has_result"], one["late"]) for one in ended] == [
        ("succeeded", "completed", True, False)
    ]
    assert (await coordination.roster(chat)).spent_tokens == 12
    async with refused(ABORTED, "LEASE_LOST"):
        await runner.beat(job)


async def test_interim_reports_are_versions_and_the_newest_one_repeated_is_none(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    assert await runner.report(job, "so far") == 1
    assert await runner.report(job, "so far") == 1
    assert await runner.report(job, "further") == 2
    worker = await coordination.worker(chat, "alpha")
    assert (worker.status, worker.has_result, worker.partial) == (W.STATUS_RUNNING, True, True)
    await runner.complete(job, text="all of it")
    assert await reports_of(database, "alpha") == [
        (1, False, True, "so far"),
        (2, False, True, "further"),
        (3, True, False, "all of it"),
    ]
    assert len(await facts(database, "reported")) == 2
    async with refused(ABORTED, "LEASE_LOST"):
        await runner.report(job, "late")


async def test_bad_requests_name_their_field_and_change_nothing(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    for most in (0, -1, 33):
        async with refused(INVALID, "INVALID_ARGUMENT", field="max_jobs"):
            await runner.claim(most=most)
    async with refused(INVALID, "INVALID_ARGUMENT", field="claim_id"):
        await runner.claim(claim_id="x" * 129)
    async with refused(INVALID, "INVALID_ARGUMENT", field="runner_id"):
        await Runner(coordination.channel, "").claim()
    (job,) = await runner.claim()
    async with refused(INVALID, "INVALID_ARGUMENT", field="tokens"):
        await runner.beat(job, tokens=-1)
    async with refused(INVALID, "INVALID_ARGUMENT", field="text"):
        await runner.report(job, " \n\t")
    async with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "VALUE_TOO_LARGE", field="text", limit=str(REPORT_BYTES)):
        await runner.report(job, "x" * (REPORT_BYTES + 1))
    async with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "VALUE_TOO_LARGE", field="detail"):
        await runner.complete(job, detail="x" * 16_385)
    assert await reports_of(database, "alpha") == []
    async with refused(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND"):
        await runner.beat(type(job)(id="job_nobody", fence=1))


@pytest.mark.parametrize("by", [PERSON, agent("ses_1")])
async def test_only_runners_take_workers(coordination: Coordination, by: Principal) -> None:
    other = Runner(coordination.channel, by=by)
    async with refused(grpc.StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED"):
        await other.claim(wait=0)


async def test_late_and_foreign_fences_are_refused_and_change_nothing(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (first,) = await runner.claim()
    await lose(database)
    (second,) = await Runner(coordination.channel, "r2").claim()
    assert (second.id, second.fence, second.attempt) == (first.id, 2, 2)
    for call in (
        runner.beat(first, said=True),
        runner.report(first, "mine"),
        runner.complete(first, text="mine"),
        runner.complete(first, text="mine", fence=99),
        runner.beat(first, fence=0),
    ):
        async with refused(ABORTED, "LEASE_LOST"):
            await call
    row = await row_of(database, "alpha")
    assert (row["status"], row["said"], row["report_version"]) == ("running", False, 0)
    await runner.complete(second, text="theirs")
    assert (await coordination.worker(chat, "alpha")).result == "theirs"


async def test_what_cannot_be_stored_becomes_the_replacement_character(
    coordination: Coordination, chat: str, runner: Runner
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    assert await runner.report(job, "a\0b") == 1
    await runner.complete(job, text="one\0two")
    assert (await coordination.worker(chat, "alpha")).result == "one\ufffdtwo"


async def test_pub23_a_result_over_three_mebibytes_ends_the_worker_as_too_large(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.spawn(chat, spec("fits"), spec("grows"), spec("large"))
    jobs = await runner.claim_all(3)
    await runner.complete(jobs["fits"], text="x" * REPORT_BYTES)
    await runner.complete(jobs["grows"], text="x" * (REPORT_BYTES - 1) + "\0")
    await runner.complete(jobs["large"], text="é" * (REPORT_BYTES // 2) + "x")
    fits = await coordination.worker(chat, "fits")
    assert (fits.status, fits.result_length) == (W.STATUS_SUCCEEDED, REPORT_BYTES)
    for name in ("grows", "large"):
        worker = await coordination.worker(chat, name)
        assert (worker.status, worker.reason) == (W.STATUS_FAILED, "result_too_large")
        assert not worker.has_result
        assert await reports_of(database, name) == []


async def test_a_worker_that_waits_for_a_person_says_so(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.beat(job, said=True, waiting=True)
    before = (await coordination.worker(chat, "alpha")).updated_at
    assert (await coordination.worker(chat, "alpha")).waiting
    await runner.beat(job, said=True, waiting=True)
    assert (await coordination.worker(chat, "alpha")).updated_at == before
    await runner.beat(job, waiting=False)
    row = await row_of(database, "alpha")
    assert (row["waiting"], row["said"]) == (False, True), "said once is said"
    assert len(await facts(database, "waiting")) == 2


async def test_a9_10_a_heartbeat_that_tells_nothing_new_changes_nothing_that_is_seen(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.beat(job, said=True)
    before, told = await row_of(database, "alpha"), await facts(database)
    for _ in range(3):
        await runner.beat(job, said=True)
    after = await row_of(database, "alpha")
    assert after["updated_at"] == before["updated_at"]
    assert await facts(database) == told


async def test_a9_25_unknown_and_broken_ends_are_failures(
    coordination: Coordination, chat: str, runner: Runner
) -> None:
    reasons = ["error", "timeout", "exploded", "", "interrupted", "launch_failed", "cancelled"]
    await coordination.spawn(chat, *(spec(f"w{n}") for n in range(len(reasons))))
    jobs = await runner.claim_all(len(reasons))
    for n, reason in enumerate(reasons):
        await runner.complete(jobs[f"w{n}"], reason)
    threads = {one.name: one for one in (await coordination.workers(chat)).threads}
    assert [(threads[f"w{n}"].status, threads[f"w{n}"].reason) for n in range(len(reasons))] == [
        (W.STATUS_FAILED, "failed"),
        (W.STATUS_FAILED, "timeout"),
        (W.STATUS_FAILED, "failed"),
        (W.STATUS_FAILED, "failed"),
        (W.STATUS_INTERRUPTED, "interrupted"),
        (W.STATUS_FAILED, "launch_failed"),
        (W.STATUS_CANCELLED, "cancelled"),
    ]


async def test_pub11_each_end_tells_how_and_what_is_left_without_a_question(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    names = ("normal", "cut", "empty", "slow", "stillborn", "atwork")
    await coordination.spawn(chat, *(spec(name) for name in names))
    jobs = await runner.claim_all(len(names))
    for name in names[:4]:
        await runner.beat(jobs[name], said=True)
    await runner.complete(jobs["normal"], text="## Result\n\nall of it")
    await runner.complete(jobs["cut"], "budget_exhausted", text="as far as it ca")
    await runner.complete(jobs["empty"], text=" \n")
    await runner.complete(jobs["slow"], "timeout", text="half")
    await runner.complete(jobs["stillborn"], "launch_failed")
    told = {
        one["name"]: (one["to"], one["reason"], one["has_result"], one["partial"])
        for one in await facts(database, "ended")
    }
    assert told == {
        "normal": ("succeeded", "completed", True, False),
        "cut": ("failed", "budget_exhausted", True, True),
        "empty": ("succeeded", "completed", False, False),
        "slow": ("failed", "timeout", True, True),
        "stillborn": ("failed", "launch_failed", False, False),
    }
    for name, (status, reason, has_result, partial) in told.items():
        worker = await coordination.worker(chat, name)
        shown = (pb.Worker.Status.Name(worker.status)[7:].lower(), worker.reason, worker.has_result, worker.partial)
        assert shown == (status, reason, has_result, partial)
    assert (await coordination.worker(chat, "atwork")).status == W.STATUS_RUNNING


async def test_b5_7_cancel_a_running_worker(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, *(spec(name) for name in ("heeds", "faster", "fails")))
    jobs = await runner.claim_all(3)
    for name in jobs:
        asked = await coordination.cancel(chat, name)
        assert (asked.status, asked.cancel_requested) == (W.STATUS_RUNNING, True)
    assert (await runner.beat(jobs["heeds"])).cancel
    await runner.complete(jobs["heeds"], "interrupted", text="so far")
    await runner.complete(jobs["faster"], "completed", text="done anyway")
    await runner.complete(jobs["fails"], "failed")
    got = {one.name: (one.status, one.reason, one.partial) for one in (await coordination.workers(chat)).threads}
    assert got == {
        "heeds": (W.STATUS_CANCELLED, "cancelled", True),
        "faster": (W.STATUS_SUCCEEDED, "completed", False),
        "fails": (W.STATUS_FAILED, "failed", False),
    }
    assert [len([one for one in await facts(database, "ended") if one["name"] == name]) for name in jobs] == [1, 1, 1]
    async with refused(ABORTED, "WORKER_ENDED"):
        await coordination.cancel(chat, "heeds")


async def test_a_queued_worker_is_cancelled_at_once_and_never_claimed(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    ended = await coordination.cancel(chat, "alpha")
    assert (ended.status, ended.reason) == (W.STATUS_CANCELLED, "cancelled")
    assert await runner.claim(wait=0) == []
    assert (await row_of(database, "alpha"))["job_state"] == "cancelled"


async def test_a_spent_budget_of_tokens_stops_every_worker(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.flag(chat, budget_tokens=100)
    await coordination.spawn(chat, spec("greedy"), spec("modest"), spec("queued"))
    jobs = await runner.claim(most=2)
    by_name = {name_of(one): one for one in jobs}
    assert not (await runner.beat(by_name["greedy"], tokens=99)).cancel
    assert (await runner.beat(by_name["greedy"], tokens=100)).cancel
    assert (await runner.beat(by_name["modest"])).cancel
    left = ({"greedy", "modest", "queued"} - set(by_name)).pop()
    assert (await row_of(database, left))["reason"] == "budget_exhausted", "no runner had it: it ended at once"
    await runner.complete(by_name["greedy"], "interrupted", text="half", tokens=110)
    await runner.complete(by_name["modest"], "cancelled", tokens=7)
    for name in by_name:
        worker = await coordination.worker(chat, name)
        assert (worker.status, worker.reason) == (W.STATUS_FAILED, "budget_exhausted")
    assert (await coordination.roster(chat)).spent_tokens == 117
    assert len(await facts(database, "ended")) == 3


async def test_a_spent_budget_of_seconds_stops_a_worker(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.flag(chat, budget_seconds=10)
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    assert not (await runner.beat(job)).cancel
    async with database.connection() as tx:  # as if it had been at work for longer
        await tx.raw.execute("UPDATE workers SET billed_at = billed_at - interval '11 seconds'")
    assert (await runner.beat(job)).cancel
    assert (await coordination.roster(chat)).spent_seconds >= 11


async def test_a_lease_that_is_given_back_is_taken_by_another_runner(
    coordination: Coordination, chat: str, runner: Runner, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.beat(job, give_back=True)
    async with refused(ABORTED, "LEASE_LOST"):
        await runner.beat(job)
    (again,) = await Runner(coordination.channel, "r2").claim(wait=10)
    assert (again.id, again.attempt) == (job.id, 2)
    assert (await row_of(database, "alpha"))["launches"] == 2


async def test_the_metric_counts_queued_and_leased_workers(
    coordination: Coordination, chat: str, runner: Runner
) -> None:
    from services.kernel.telemetry import JOBS

    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    await runner.claim(most=1)

    async def counted() -> bool:
        return [JOBS.labels("coordination", "worker", state)._value.get() for state in ("queued", "leased")] == [1, 1]

    await until(counted)
