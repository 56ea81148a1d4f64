"""Spawning: item by item, with a live turn, committed together with the jobs (A4, C.2)."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from grpc import StatusCode

from services.coordination.adapters.wake import Wake
from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.domain.worker import Reason
from services.kernel import jobs
from services.kernel.ids import is_id
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, VIEWER, Coordination, agent, refused, spec
from tests.integration.coordination.conftest import Served
from tests.integration.coordination.rows import NOW, TENANT
from tests.integration.coordination.runs import ended, taken
from treadle.coordination.v1 import coordination_service_pb2 as pb

NO_LIVE_TURN = (
    "thread_spawn needs a live coordinator turn (no active parent session). "
    "Create the worker from the thread view instead."
)


async def test_a9_1_good_and_bad_items_keep_their_order_and_do_not_touch_each_other(
    coordination: Coordination, chat: str
) -> None:
    answer = await coordination.spawn(
        chat,
        spec("alpha"),
        spec("Not A Name"),
        spec("beta", brief="  "),
        spec("alpha", brief="again"),
        spec("gamma", context="c" * 4_001),
        spec("delta", timeout_seconds=-1),
        spec("epsilon", adapter="external"),
        spec("zeta", brief="b" * 4_001),
        spec("eta", brief=" do eta \n", context=" more ", timeout_seconds=86_400),
    )
    assert [(one.name, one.ok, one.code) for one in answer] == [
        ("alpha", True, ""),
        ("Not A Name", False, "invalid_name"),
        ("beta", False, "brief_required"),
        ("alpha", False, "name_taken"),
        ("gamma", False, "invalid_argument"),
        ("delta", False, "invalid_argument"),
        ("epsilon", False, "invalid_argument"),
        ("zeta", False, "invalid_argument"),
        ("eta", True, ""),
    ]
    assert "^[a-z0-9][a-z0-9_-]{0,63}$" in answer[1].error
    assert "4000" in answer[4].error
    assert "4000" in answer[7].error
    for one in answer:
        if one.ok:
            assert one.kind == pb.Worker.KIND_SUBAGENT
            assert one.status == pb.Worker.STATUS_SPAWNING
            assert is_id("wrk", one.subagent_id)
            assert not one.error
        else:
            assert one.error
            assert not one.subagent_id
    listed = (await coordination.workers(chat)).threads
    assert [(one.name, one.brief) for one in listed] == [("alpha", "do alpha"), ("eta", "do eta")]
    assert [one.id for one in listed] == [one.subagent_id for one in answer if one.ok]


async def test_a9_2_names_of_64_characters_pass_65_and_a_trailing_newline_do_not(
    coordination: Coordination, chat: str
) -> None:
    names = ["a" * 64, "a" * 65, "w1\n", "W1", "\uff11", "", "-a", "a_b-c"]
    answer = await coordination.spawn(chat, *(spec(name, brief="b") for name in names))
    assert [one.ok for one in answer] == [True, False, False, False, False, False, False, True]
    assert [one.name for one in answer] == names
    assert {one.code for one in answer if not one.ok} == {"invalid_name"}


async def test_a9_3_a_name_twice_in_one_batch_is_the_first_ones(coordination: Coordination, chat: str) -> None:
    answer = await coordination.spawn(chat, spec("alpha", "first"), spec("alpha", "second"), spec("beta"))
    assert [(one.ok, one.code) for one in answer] == [(True, ""), (False, "name_taken"), (True, "")]
    assert (await coordination.worker(chat, "alpha")).brief == "first"


async def test_a9_4_whoever_sees_the_job_sees_the_worker_spawning(
    coordination: Coordination, chat: str, database: Database, wake: Wake
) -> None:
    async with wake.of_jobs() as bell:
        await coordination.spawn(chat, spec("alpha"), spec("beta"))
        assert await bell.wait(5)
    async with database.transaction() as tx:
        queued = await jobs.candidates(tx, ["worker"], 9)
        states = await tx.raw.fetch("SELECT id, job_id, status, launches FROM workers ORDER BY id")
    assert {(job.id, job.subject) for job in queued} == {(row["job_id"], row["id"]) for row in states}
    assert {(row["status"], row["launches"]) for row in states} == {("spawning", 0)}
    worker = await coordination.worker(chat, "alpha")
    assert (worker.status, worker.ids.subagent_id) == (pb.Worker.STATUS_SPAWNING, worker.id)
    assert not worker.ids.HasField("subagent_session_id")
    assert worker.spawned_by_turn


async def test_a9_7_a_note_written_during_a_spawn_of_three_survives(coordination: Coordination, chat: str) -> None:
    await coordination.spawn(chat, spec("first"))
    await asyncio.gather(
        coordination.spawn(chat, spec("a"), spec("b"), spec("c")),
        coordination.note(chat, "kept", name="first"),
        coordination.note(chat, "mine"),
    )
    roster = await coordination.roster(chat)
    assert list(roster.notes) == ["mine"]
    assert [one.name for one in roster.threads if list(one.notes) == ["kept"]] == ["first"]
    assert {one.name for one in roster.threads} == {"first", "a", "b", "c"}


@pytest.mark.parametrize("how", ["no session", "no turn", "ended", "stopping"])
async def test_a9_8_without_a_live_turn_nothing_is_written_and_the_name_is_free(
    coordination: Coordination, sessions: Served, database: Database, how: str
) -> None:
    session = sessions.fake.open()
    await coordination.flag(session.id)
    match how:
        case "no session":
            del sessions.fake.sessions["default", session.id]
        case "no turn":
            session.turns.clear()
        case "ended":
            session.settle()
        case _:
            session.turns[-1].live = False
    async with refused(StatusCode.FAILED_PRECONDITION, "NO_LIVE_TURN") as answer:
        await coordination.spawn(session.id, spec("alpha"), request_id="r1")
    assert answer.message == NO_LIVE_TURN
    assert not (await coordination.workers(session.id)).threads
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT count(*) FROM jobs") == 0
        assert await tx.raw.fetchval("SELECT count(*) FROM idempotency") == 0
    sessions.fake.sessions["default", session.id] = session
    turn = session.begin()
    (one,) = await coordination.spawn(session.id, spec("alpha"), request_id="r1")
    assert one.ok
    assert (await coordination.worker(session.id, "alpha")).spawned_by_turn == turn.id


async def test_streaming_away_is_said_and_writes_nothing(
    coordination: Coordination, chat: str, sessions: Served
) -> None:
    sessions.fake.down = True
    async with refused(StatusCode.UNAVAILABLE, "STREAMING_UNAVAILABLE"):
        await coordination.spawn(chat, spec("alpha"), request_id="r1")
    sessions.fake.down = False
    (one,) = await coordination.spawn(chat, spec("alpha"), request_id="r1")
    assert one.ok


async def test_the_question_to_streaming_bears_the_callers_own_token(
    coordination: Coordination, chat: str, sessions: Served
) -> None:
    await coordination.spawn(chat, spec("a"))
    await coordination.spawn(chat, spec("b"), by=PERSON)
    assert sessions.fake.askers == [agent(chat), PERSON]


@pytest.mark.parametrize("outcome", ["ok", "truncated", "failed"])
async def test_a_turn_that_ended_in_good_order_meanwhile_makes_a_late_spawn(
    coordination: Coordination, chat: str, sessions: Served, workshop: PostgresWorkshop, outcome: str
) -> None:
    turn = sessions.fake.sessions["default", chat].turns[-1]
    async with workshop.work() as work:
        await work.note_turn_end(TENANT, chat, turn.id, outcome, NOW)
    (one,) = await coordination.spawn(chat, spec("alpha"))
    assert one.ok
    done = await ended(workshop, chat, "alpha", Reason.COMPLETED, "x")
    assert done.late


async def test_a_turn_that_was_aborted_meanwhile_spawns_nothing(
    coordination: Coordination, chat: str, sessions: Served, workshop: PostgresWorkshop
) -> None:
    session = sessions.fake.sessions["default", chat]
    async with workshop.work() as work:
        await work.note_turn_end(TENANT, chat, session.turns[-1].id, "aborted", NOW)
    async with refused(StatusCode.FAILED_PRECONDITION, "TURN_ENDED"):
        await coordination.spawn(chat, spec("alpha"), spec("beta"))
    assert not (await coordination.workers(chat)).threads
    session.begin()
    (one,) = await coordination.spawn(chat, spec("alpha"))
    assert one.ok


async def test_a_session_that_was_deleted_meanwhile_spawns_nothing(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop
) -> None:
    async with workshop.work() as work:
        await work.note_session_deleted(TENANT, chat, NOW)
    async with refused(StatusCode.FAILED_PRECONDITION, "TURN_ENDED"):
        await coordination.spawn(chat, spec("alpha"))


async def test_thread_mode_is_needed_and_never_switched_on_by_the_way(
    coordination: Coordination, sessions: Served
) -> None:
    session = sessions.fake.open().id
    async with refused(StatusCode.FAILED_PRECONDITION, "THREAD_MODE_DISABLED"):
        await coordination.spawn(session, spec("alpha"))
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.roster(session)
    await coordination.flag(session, enabled=False)
    async with refused(StatusCode.FAILED_PRECONDITION, "THREAD_MODE_DISABLED"):
        await coordination.spawn(session, spec("alpha"))


async def test_a_worker_spawns_nothing(
    coordination: Coordination, chat: str, sessions: Served, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    async with database.connection() as tx:
        managed: str = await tx.raw.fetchval("SELECT session_id FROM workers")
    await coordination.register(chat, "beta", "ses_registered")
    for worker in (managed, "ses_registered"):
        sessions.fake.open(id=worker)
        for by in (agent(worker), PERSON):
            async with refused(StatusCode.FAILED_PRECONDITION, "DEPTH_EXCEEDED"):
                await coordination.spawn(worker, spec("deep"), by=by)


async def test_a_batch_of_none_or_of_too_many_is_refused(coordination: Coordination, chat: str) -> None:
    for specs in ([], [spec(f"w{number}") for number in range(65)]):
        async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="threads", limit="64"):
            await coordination.spawn(chat, *specs)
    async with refused(StatusCode.RESOURCE_EXHAUSTED, "VALUE_TOO_LARGE", field="threads"):
        await coordination.spawn(chat, spec("x" * 3_200_000, "b"))
    assert not (await coordination.workers(chat)).threads
    (one,) = await coordination.spawn(chat, spec("x" * 1_000_000, "b"), request_id="r1")
    assert one.code == "invalid_name"
    assert len(one.name) == 1_000_000
    (again,) = await coordination.spawn(chat, spec("x" * 1_000_000, "b"), request_id="r1")
    assert again == one


async def test_thirty_two_are_at_work_and_the_next_waits_for_an_end(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop
) -> None:
    answer = await coordination.spawn(chat, *(spec(f"w{number}") for number in range(40)))
    assert [one.ok for one in answer] == [True] * 32 + [False] * 8
    assert {one.code for one in answer[32:]} == {"too_many_threads"}
    assert "32" in answer[32].error
    async with refused(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_THREADS", limit="32"):
        await coordination.register(chat, "more", "ses_more")
    await ended(workshop, chat, "w3", Reason.COMPLETED, "x")
    answer = await coordination.spawn(chat, spec("x1"), spec("x2"))
    assert [one.ok for one in answer] == [True, False]


async def test_a_thousand_in_all_are_enough(coordination: Coordination, chat: str, database: Database) -> None:
    await coordination.spawn(chat, spec("alpha"))
    async with database.connection() as tx:
        await tx.raw.execute("UPDATE workers SET status = 'failed', reason = 'failed', ended_at = now()")
        await tx.raw.execute(
            "INSERT INTO workers (tenant, id, coordinator_id, name, kind, status, reason, brief, session_id,"
            " spawned_by, created_at, updated_at, ended_at)"
            " SELECT tenant, id || n, coordinator_id, 'w' || n, kind, status, reason, brief,"
            " session_id || n, spawned_by, created_at, updated_at, ended_at"
            " FROM workers, generate_series(2, 1000) AS n"
        )
    (one,) = await coordination.spawn(chat, spec("beta"))
    assert (one.code, "1000" in one.error) == ("too_many_threads", True)


async def test_a_spent_budget_spawns_nothing_more(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop
) -> None:
    await coordination.flag(chat, budget_tokens=10)
    async with workshop.work() as work:
        there = await work.coordinator(TENANT, chat)
        assert there is not None
        await work.charge(there, 0, 10)
    answer = await coordination.spawn(chat, spec("alpha"), spec("Bad"))
    assert [one.code for one in answer] == ["budget_exhausted", "invalid_name"]
    await coordination.flag(chat, budget_tokens=11)
    (one,) = await coordination.spawn(chat, spec("alpha"))
    assert one.ok


@pytest.mark.parametrize(
    ("session", "policy", "said", "on"),
    [
        (("pi", "anthropic", "opus", "high"), {}, {}, ("pi", "anthropic", "opus", "high")),
        (("external", "", "", "low"), {}, {}, ("scripted", "", "", "low")),
        (("external", "", "", "low"), {"adapter": "pi", "model": "m"}, {}, ("pi", "", "m", "low")),
        (("pi", "p", "m", "off"), {"adapter": "openai"}, {"adapter": "pi"}, ("pi", "p", "m", "off")),
        (("pi", "p", "m", "off"), {}, {"provider": "q", "model": "n"}, ("pi", "q", "n", "off")),
    ],
)
async def test_what_workers_run_on(
    coordination: Coordination,
    sessions: Served,
    workshop: PostgresWorkshop,
    session: tuple[str, str, str, str],
    policy: dict[str, Any],
    said: dict[str, str],
    on: tuple[str, str, str, str],
) -> None:
    adapter, provider, model, thinking = session
    opened = sessions.fake.open(adapter=adapter, provider=provider, model=model, thinking=thinking).id
    await coordination.flag(opened, **policy)
    await coordination.spawn(opened, spec("alpha", **said))
    async with workshop.work() as work:
        worker = await work.worker(TENANT, opened, "alpha")
    assert worker is not None
    assert (worker.adapter, worker.provider, worker.model, worker.thinking) == on


async def test_each_spawn_is_told_as_a_fact(coordination: Coordination, chat: str, database: Database) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("Bad"), spec("beta"))
    async with database.connection() as tx:
        rows = await tx.raw.fetch("SELECT scope, payload FROM outbox ORDER BY id")
    told = [orjson.loads(row["payload"]) for row in rows]
    assert [(one["kind"], one.get("name"), one.get("to")) for one in told] == [
        ("flag", None, None),
        ("spawned", "alpha", "spawning"),
        ("spawned", "beta", "spawning"),
    ]
    assert {row["scope"] for row in rows} == {chat}
    assert told[1]["actor"] == f"agent:{chat}"
    assert "brief" not in told[1]


async def test_a_viewer_and_another_sessions_agent_spawn_nothing(
    coordination: Coordination, chat: str, sessions: Served
) -> None:
    async with refused(StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED"):
        await coordination.spawn(chat, spec("alpha"), by=VIEWER)
    other = sessions.fake.open().id
    async with refused(StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
        await coordination.spawn(chat, spec("alpha"), by=agent(other))
    assert not (await coordination.workers(chat)).threads


async def test_a_running_worker_has_its_sessions_id(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    running = await taken(workshop, database, chat, "alpha")
    worker = await coordination.worker(chat, "alpha")
    assert worker.ids.subagent_session_id == running.session_id
    assert worker.status == pb.Worker.STATUS_RUNNING
    assert worker.HasField("start_time")
