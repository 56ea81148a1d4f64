"""Runners in processes of their own with workers: killed, stopped, terminated. Fence and lease decide (C.3)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.coordination_service import CoordinationServer, FakeCoordination
from tests.fakes.worker_sessions import FakeSession, FakeSessions, SessionsServer
from tests.integration.runner.launching import Launch, launching

LEASE = 2.0


@pytest.fixture
async def coordination() -> FakeCoordination:
    return FakeCoordination(LEASE)


@pytest.fixture
async def sessions() -> FakeSessions:
    return FakeSessions()


@pytest.fixture
async def launch(coordination: FakeCoordination, sessions: FakeSessions, tmp_path: Path) -> AsyncIterator[Launch]:
    """`await launch("r1")`: `python -m services.runner` against the fakes; killed at the end."""
    servers = CoordinationServer(coordination), SessionsServer(sessions)
    for server in servers:
        await server.start()

    async with launching(
        TREADLE_THREADS_TARGET="127.0.0.1:1",
        TREADLE_STREAMING_TARGET=servers[1].address,
        TREADLE_COORDINATION_TARGET=servers[0].address,
        TREADLE_SESSION_ADAPTERS="",
        TREADLE_HOME=str(tmp_path),
        TREADLE_HEARTBEAT_SECONDS=str(LEASE / 3),
        TREADLE_LEASE_SECONDS=str(LEASE),
        TREADLE_DRAIN_SECONDS="4",
    ) as launch:
        yield launch
    for server in servers:
        await server.stop()


async def test_killed_in_the_middle_of_its_workers_another_goes_on_with_each(
    coordination: FakeCoordination, sessions: FakeSessions, launch: Launch
) -> None:
    first = await launch("first")
    workers = [coordination.spawn(f"x{number}") for number in range(8)]
    all_of_them = [sessions.of(number) for number in range(8)]
    await coordination.until(lambda: all(session.turns for session in all_of_them), 90)
    for session in all_of_them[:4]:
        session.say("before")
    await coordination.until(lambda: all(worker.said for worker in workers[:4]))
    first.kill()
    await launch("second")
    await coordination.until(lambda: all(worker.runner_id == "second" for worker in workers), 90)
    for session in all_of_them:
        session.say(" after")
        session.settle()
    for number, worker in enumerate(workers):
        end = await coordination.ended(worker)
        assert (end.reason, end.text) == ("completed", "before after" if number < 4 else " after")
    assert all(len(session.prompts) == 1 for session in all_of_them)


async def test_stopped_and_continued_it_cannot_end_what_another_took_over(
    coordination: FakeCoordination, sessions: FakeSessions, launch: Launch
) -> None:
    first = await launch("first")
    worker, session = coordination.spawn("x"), sessions.of()
    await coordination.until(lambda: session.cursors and worker.beats, 90)
    first.send_signal(signal.SIGSTOP)
    await launch("second")
    await coordination.until(lambda: worker.runner_id == "second", 90)
    coordination.lease = 60
    await coordination.until(lambda: worker.lease_until, 90)
    fence = worker.fence
    first.send_signal(signal.SIGCONT)
    await coordination.until(lambda: worker.refused, 90)
    assert worker.ends == []
    session.say("done")
    session.settle()
    end = await coordination.ended(worker)
    assert (end.reason, end.text, end.fence) == ("completed", "done", fence)
    assert first.returncode is None
    assert len(session.prompts) == 1


async def test_a_worker_that_waits_for_a_person_is_adopted_and_waits_on(
    coordination: FakeCoordination, sessions: FakeSessions, launch: Launch
) -> None:
    first = await launch("first")
    worker, session = coordination.spawn("x"), sessions.of()
    await coordination.until(lambda: session.cursors, 90)
    session.wait()
    await coordination.until(lambda: worker.waiting)
    first.kill()
    worker.beats.clear()
    await launch("second")
    await coordination.until(lambda: worker.waiting and worker.runner_id == "second", 90)
    session.wait(False)
    session.settle()
    assert (await coordination.ended(worker)).reason == "completed"
    assert len(session.prompts) == 1


async def test_terminated_it_gives_its_workers_back_at_once(
    coordination: FakeCoordination, sessions: FakeSessions, launch: Launch
) -> None:
    coordination.lease = 600
    first = await launch("first")
    workers = [coordination.spawn(f"x{number}") for number in range(8)]
    all_of_them: list[FakeSession] = [sessions.of(number) for number in range(8)]
    await coordination.until(lambda: all(session.cursors for session in all_of_them), 90)
    # Two of them end in the same moment: whoever reports them, they are reported once, and whole.
    for session in all_of_them:
        session.say("said")
    first.terminate()
    for session in all_of_them[:2]:
        session.settle()
    assert await asyncio.wait_for(first.wait(), 60) == 0
    assert all(worker.ends or worker.beats[-1].give_back for worker in workers)
    assert not any(worker.ends for worker in workers[2:])
    await launch("second")
    for session in all_of_them[2:]:
        session.settle()
    for worker in workers:
        end = await coordination.ended(worker)
        assert (end.reason, end.text, len(worker.ends)) == ("completed", "said", 1)
    assert all(len(session.prompts) == 1 for session in all_of_them)
