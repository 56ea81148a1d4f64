"""Workers over real gRPC: prompted, watched, adopted, cancelled, left to others (design/coordination.md C.2, C.3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from services.kernel.clock import SystemClock
from services.kernel.errors import Invalid, NotAllowed, Unauthenticated, Unavailable
from services.kernel.lifecycle import Lifecycle
from services.kernel.principal import Authenticator, Principal
from services.kernel.settings import load
from services.runner.main import build
from services.runner.settings import RunnerSettings
from tests.fakes.coordination_service import CoordinationServer, FakeCoordination
from tests.fakes.worker_sessions import FakeSession, FakeSessions, SessionsServer

LEASE = 10.0


@pytest.fixture
async def coordination() -> FakeCoordination:
    return FakeCoordination(LEASE)


@pytest.fixture
async def sessions() -> FakeSessions:
    return FakeSessions()


@pytest.fixture
async def coordination_server(coordination: FakeCoordination) -> AsyncIterator[CoordinationServer]:
    server = CoordinationServer(coordination)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def sessions_server(sessions: FakeSessions) -> AsyncIterator[SessionsServer]:
    server = SessionsServer(sessions)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def settings(
    coordination_server: CoordinationServer, sessions_server: SessionsServer, tmp_path: Path
) -> RunnerSettings:
    return load(
        RunnerSettings,
        threads_target="127.0.0.1:1",
        streaming_target=sessions_server.address,
        coordination_target=coordination_server.address,
        session_adapters="",
        home=tmp_path,
        runner_wait_seconds=5,
        heartbeat_seconds=0.5,
        lease_seconds=LEASE,
        drain_seconds=4,
    )


@asynccontextmanager
async def runner_of(settings: RunnerSettings) -> AsyncIterator[Lifecycle]:
    async with Lifecycle("runner", settings.drain_seconds) as life:
        await build(settings, life)
        yield life


@pytest.fixture
async def runner(settings: RunnerSettings) -> AsyncIterator[Lifecycle]:
    async with runner_of(settings) as life:
        yield life


async def test_a_worker_is_prompted_in_its_own_session_and_its_text_reported(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    agent = Principal("default", "ses_0", "agent", frozenset({"agent"}))
    token = Authenticator(None, SystemClock()).mint(agent, timedelta(hours=1))
    worker = coordination.spawn("Read this", token=token, provider="p", model="m", thinking="high")
    session = sessions.of()
    await sessions.until(lambda: session.turns)
    session.say("Half")
    await coordination.until(lambda: worker.said)
    session.say(" and half")
    session.turns[-1].tokens = 42
    session.settle()
    end = await coordination.ended(worker)
    assert (end.reason, end.text, end.tokens) == ("completed", "Half and half", 42)
    (created,) = session.created
    assert (created.adapter, created.provider, created.model, created.thinking) == ("scripted", "p", "m", "high")
    assert (created.session_id, created.title) == ("ses_0", "Thread: w0")
    (prompt,) = session.prompts
    assert (prompt.text, prompt.request_id) == ("Read this", "wrk_0-1")
    assert sessions.authorizations == {f"Bearer {token}"}


@pytest.mark.parametrize(
    ("code", "said", "reason"),
    [
        ("provider_error", True, "failed"),
        ("provider_timeout", True, "timeout"),
        ("runner_lost", True, "runner_lost"),
        ("child_exit", True, "failed"),
        ("start_failed", False, "launch_failed"),
        ("start_failed", True, "failed"),
    ],
)
async def test_a_failed_turn_has_its_reason(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle, code: str, said: bool, reason: str
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    await sessions.until(lambda: session.turns)
    if said:
        session.say("so far")
    session.fail(code)
    end = await coordination.ended(worker)
    assert (end.reason, end.text, end.detail) == (reason, "so far" if said else "", code)
    assert len(session.prompts) == 1


@pytest.mark.parametrize(("outcome", "reason"), [("truncated", "budget_exhausted"), ("aborted", "interrupted")])
async def test_an_answer_that_was_cut_off_has_its_reason(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle, outcome: str, reason: str
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    await sessions.until(lambda: session.turns)
    session.say("cut")
    session.settle(outcome)
    end = await coordination.ended(worker)
    assert (end.reason, end.text) == (reason, "cut")


async def test_a_gate_makes_it_wait_and_its_answer_go_on(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    await sessions.until(lambda: session.turns)
    session.wait()
    await coordination.until(lambda: worker.waiting)
    session.wait(False)
    await coordination.until(lambda: not worker.waiting)
    session.settle()
    assert (await coordination.ended(worker)).reason == "completed"


async def test_a_lost_runner_of_the_session_is_asked_around_once_where_nobody_had_said_anything(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    await sessions.until(lambda: session.turns)
    session.fail("runner_lost")
    await sessions.until(lambda: len(session.prompts) == 2)
    assert [prompt.request_id for prompt in session.prompts] == ["wrk_0-1", "wrk_0-1-1"]
    session.fail("runner_lost")
    assert (await coordination.ended(worker)).reason == "runner_lost"
    assert len(session.prompts) == 2


async def test_streams_that_break_are_taken_up_where_they_were(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    for number in range(1, 6):
        await sessions.until(lambda number=number: len(session.cursors) == number)
        session.say(f"{number} ")
        sessions.cut()
    session.settle()
    assert (await coordination.ended(worker)).text == "1 2 3 4 5 "
    assert len(session.prompts) == 1
    assert session.cursors == sorted(session.cursors)


async def test_streaming_that_goes_and_comes_back_is_waited_for(
    coordination: FakeCoordination, sessions: FakeSessions, sessions_server: SessionsServer, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    await sessions.until(lambda: session.cursors)
    await sessions_server.stop()
    session.say("done")
    session.settle()
    await sessions_server.start()
    assert (await coordination.ended(worker)).text == "done"
    assert len(session.prompts) == 1


async def test_what_cannot_be_asked_now_is_asked_again(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    sessions.refuse = dict.fromkeys(("create", "prompt"), Unavailable("AWAY", "not now"))
    worker, session = coordination.spawn("x"), sessions.of()
    await coordination.until(lambda: worker.beats)
    sessions.refuse.clear()
    await sessions.until(lambda: session.turns)
    session.settle()
    assert (await coordination.ended(worker)).reason == "completed"


async def test_a_session_that_cannot_be_opened_is_a_launch_that_failed(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    sessions.refuse["create"] = Invalid("INVALID_ARGUMENT", "no such adapter", field="adapter")
    end = await coordination.ended(coordination.spawn("x", adapter="?"))
    assert (end.reason, end.text) == ("launch_failed", "")
    assert end.detail.startswith("INVALID_ARGUMENT")


async def test_a_session_that_is_deleted_interrupts_its_worker(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    await sessions.until(lambda: session.cursors)
    session.deleted = True
    assert (await coordination.ended(worker)).reason == "interrupted"


async def test_a_cancel_aborts_and_keeps_what_was_said(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    await sessions.until(lambda: session.turns)
    session.say("so far")
    worker.cancel = True
    end = await coordination.ended(worker)
    assert (end.reason, end.text, session.aborts) == ("cancelled", "so far", 1)


async def test_a_result_that_was_faster_than_the_cancel_counts(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    session.heeds_aborts = False
    await sessions.until(lambda: session.turns)
    worker.cancel = True
    await sessions.until(lambda: session.aborts)
    session.say("all of it")
    session.settle()
    end = await coordination.ended(worker)
    assert (end.reason, end.text) == ("completed", "all of it")


async def test_an_agent_that_does_not_stop_is_left_to_the_service(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    session.heeds_aborts = False
    await sessions.until(lambda: session.turns)
    worker.cancel = True
    end = await coordination.ended(worker)
    assert (end.reason, end.text, session.aborts) == ("cancelled", "", 1)


@pytest.mark.parametrize("state", ["running", "waiting"])
async def test_a_turn_that_is_under_way_is_adopted(
    coordination: FakeCoordination, sessions: FakeSessions, settings: RunnerSettings, state: str
) -> None:
    session = sessions.of()
    session.begin()
    session.say("before")
    if state == "waiting":
        session.wait()
    worker = coordination.spawn("x")
    async with runner_of(settings):
        await coordination.until(lambda: worker.said and worker.waiting == (state == "waiting"))
        session.say(" and after")
        session.settle()
        assert (await coordination.ended(worker)).text == "before and after"
    assert session.prompts == []


async def test_a_turn_that_has_ended_is_reported(
    coordination: FakeCoordination, sessions: FakeSessions, settings: RunnerSettings
) -> None:
    session = sessions.of()
    session.begin()
    session.say("before")
    session.settle()
    worker = coordination.spawn("x")
    async with runner_of(settings):
        end = await coordination.ended(worker)
    assert (end.reason, end.text, session.prompts) == ("completed", "before", [])


async def test_a_turn_that_nobody_heard_is_prompted_again(
    coordination: FakeCoordination, sessions: FakeSessions, settings: RunnerSettings
) -> None:
    session = sessions.of()
    session.begin()
    session.fail("runner_lost")
    worker = coordination.spawn("x")
    worker.attempt = 1
    async with runner_of(settings):
        await sessions.until(lambda: session.prompts)
        session.settle()
        assert (await coordination.ended(worker)).reason == "completed"
    assert [prompt.request_id for prompt in session.prompts] == ["wrk_0-2"]


async def test_a_runner_that_stops_leaves_its_workers_to_another(
    coordination: FakeCoordination, sessions: FakeSessions, settings: RunnerSettings
) -> None:
    coordination.lease = 60
    worker, session = coordination.spawn("x"), sessions.of()
    async with runner_of(settings):
        await sessions.until(lambda: session.cursors)
    assert (worker.ends, worker.beats[-1].give_back) == ([], True)
    async with runner_of(settings):
        await coordination.until(lambda: worker.attempt == 2)
        session.say("done")
        session.settle()
        assert (await coordination.ended(worker)).text == "done"
    assert len(session.prompts) == 1


async def test_a_lease_that_was_lost_is_dropped_without_a_word(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    await sessions.until(lambda: session.cursors)
    worker.fence += 1
    await coordination.until(lambda: "heartbeat" in worker.refused)
    session.settle()
    worker.state = "queued"
    end = await coordination.ended(worker)
    assert (end.reason, end.fence, worker.refused) == ("completed", 3, ["heartbeat"])


async def test_thirty_two_workers_are_at_work_at_once(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    workers = [coordination.spawn(f"x{number}") for number in range(33)]
    all_of_them: list[FakeSession] = [sessions.of(number) for number in range(32)]
    await sessions.until(lambda: all(session.turns for session in all_of_them))
    assert coordination.most_leased == 32
    for session in all_of_them:
        session.say(session.id)
        session.settle()
    for worker, session in zip(workers, all_of_them, strict=False):
        assert (await coordination.ended(worker)).text == session.id
    await sessions.until(lambda: sessions.of(32).turns)


async def test_a_worker_whose_token_is_good_no_more_is_taken_again_with_a_new_one(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    worker, session = coordination.spawn("x"), sessions.of()
    await sessions.until(lambda: session.cursors)
    session.say("before")
    await coordination.until(lambda: worker.said)
    sessions.refuse["turn"] = Unauthenticated("TOKEN_EXPIRED", "the token has expired")
    sessions.cut()
    await coordination.until(lambda: any(beat.give_back for beat in worker.beats))
    sessions.refuse.clear()
    await coordination.until(lambda: worker.attempt > 1)
    session.say(" and after")
    session.settle()
    end = await coordination.ended(worker)
    assert (end.reason, end.text, len(session.prompts)) == ("completed", "before and after", 1)


async def test_a_turn_that_is_starting_is_waited_for_and_not_asked_for_all_the_time(
    coordination: FakeCoordination, sessions: FakeSessions, runner: Lifecycle
) -> None:
    sessions.refuse["prompt"] = NotAllowed("TURN_RUNNING", "a turn is starting")
    worker, session = coordination.spawn("x"), sessions.of()
    await coordination.until(lambda: sessions.asked["prompt"] > 1)
    assert sessions.asked["turn"] <= sessions.asked["prompt"] + 1
    session.begin()
    session.say("theirs")
    session.settle()
    assert (await coordination.ended(worker)).text == "theirs"
    assert session.prompts == []
