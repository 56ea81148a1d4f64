"""Runners in processes of their own whose agents are processes too: terminated, killed, stopped beyond the lease.

Whatever becomes of the runner, of its agents and of what they have started nothing is left that nobody owns (D2.5).
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from tests.fakes.streaming_service import FakeStreaming, StreamingServer
from tests.integration.runner.launching import Launch, Process, launching

LEASE = 5.0
FAKE_PI = Path(__file__).parents[2] / "fakes" / "pi_child.py"
SLEEP = f"7{uuid.uuid4().int % 10**9}"
"""A time to sleep for that nobody else sleeps for: by it the commands of these agents are found."""


@pytest.fixture
async def service() -> FakeStreaming:
    return FakeStreaming(LEASE)


@pytest.fixture
async def launch(service: FakeStreaming, tmp_path: Path) -> AsyncIterator[Launch]:
    """`await launch("r1")`: `python -m services.runner` against the fake; killed at the end with all it has started."""
    server = StreamingServer(service)
    await server.start()

    async with launching(
        TREADLE_THREADS_TARGET="127.0.0.1:1",
        TREADLE_STREAMING_TARGET=server.address,
        TREADLE_HOME=str(tmp_path),
        TREADLE_PI_COMMAND=f"{sys.executable} {FAKE_PI}",
        TREADLE_PI_ENVIRONMENT="FAKE_SLEEP",
        TREADLE_HEARTBEAT_SECONDS="0.5",
        TREADLE_LEASE_SECONDS=str(LEASE),
        # Shorter than the lease: a claim of a stopped runner takes no session from the others.
        TREADLE_RUNNER_WAIT_SECONDS="1",
        TREADLE_DRAIN_SECONDS="4",
        FAKE_SLEEP=SLEEP,
    ) as launch:
        yield launch
    await server.stop()
    for command in commands():
        command.kill()


def commands(runner: Process | None = None) -> list[psutil.Process]:
    """What agents have started and is running; of this runner alone, where one is named."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        with contextlib.suppress(psutil.NoSuchProcess):
            is_one = process.info["cmdline"] == ["sleep", SLEEP] and process.info["status"] != psutil.STATUS_ZOMBIE
            if is_one and (runner is None or runner.pid in [parent.pid for parent in process.parents()]):
                found.append(process)
    return found


async def test_terminated_it_stops_agents_that_do_not_heed_and_leaves_nothing(
    service: FakeStreaming, launch: Launch
) -> None:
    runner = await launch("one")
    sessions = [service.open("pi") for _ in range(3)]
    for session in sessions:
        session.prompt("stubborn")
    await service.until(lambda: len(commands()) == 3, 90)
    runner.terminate()
    assert await asyncio.wait_for(runner.wait(), 90) == 0
    await service.until(lambda: not commands(), 30)
    assert [session.ends for session in sessions] == [["child_exit"]] * 3


async def test_killed_its_agents_commands_are_ended_by_the_next_runner(service: FakeStreaming, launch: Launch) -> None:
    runner = await launch("one")
    service.open("pi").prompt("stubborn")
    await service.until(lambda: commands(), 90)
    runner.kill()
    await runner.wait()
    await launch("two")
    await service.until(lambda: not commands(), 90)


async def test_stopped_beyond_its_lease_and_continued_it_ends_its_agent_and_says_nothing_more(
    service: FakeStreaming, launch: Launch
) -> None:
    first = await launch("one")
    session = service.open("pi")
    session.prompt("stubborn")
    await service.until(lambda: commands(first), 90)
    first.send_signal(signal.SIGSTOP)
    await service.until(lambda: service.lapsed(session), 90)
    service.lease = 600
    service.requeue(session)
    second = await launch("two")
    await service.until(lambda: commands(second), 90)
    assert commands(first), "the next runner leaves alone what a living one owns"
    first.send_signal(signal.SIGCONT)
    await service.until(lambda: not commands(first), 90)
    assert commands(second)
    assert first.returncode is None
    assert (session.ends, session.settled, session.state) == ([], [], "leased")
