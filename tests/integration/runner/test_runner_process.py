"""The runner in its own process: stopped, killed, terminated. Fence and lease decide what it may still do."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.job_service import FakeJob, FakeJobService, FakeThreads
from tests.integration.runner.launching import Launch, launching

LEASE = 2.0
"""Seconds: longer than for a runner in this process, whose start is not waited for."""


@pytest.fixture
async def jobs() -> FakeJobService:
    return FakeJobService(LEASE)


@pytest.fixture
async def launch(threads: FakeThreads, tmp_path: Path) -> AsyncIterator[Launch]:
    """`await launch("r1")`: `python -m services.runner` against the fake service; killed at the end."""

    async with launching(
        TREADLE_THREADS_TARGET=threads.address,
        TREADLE_STREAMING_TARGET="",
        TREADLE_HOME=str(tmp_path),
        TREADLE_HEARTBEAT_SECONDS=str(LEASE / 3),
        TREADLE_LEASE_SECONDS=str(LEASE),
        TREADLE_DRAIN_SECONDS="4",
        TREADLE_SHELL="1",
    ) as launch:
        yield launch


async def test_stopped_and_continued_it_cannot_end_what_another_took_over(jobs: FakeJobService, launch: Launch) -> None:
    first = await launch("first")
    job = jobs.inference(f"x [[slow {int(LEASE * 1500)}ms]]")
    await jobs.until(lambda: job.heartbeats > 0)

    first.send_signal(signal.SIGSTOP)
    second = await launch("second")
    await jobs.until(lambda: job.runner_id == "second")
    first.send_signal(signal.SIGCONT)

    assert (await jobs.ended(job))[0] == "done"
    await jobs.until(lambda: bool(job.refused))
    assert job.runner_id == "second"
    assert job.attempt >= 2, "3 when the stopped one's open claim was answered as well"
    assert second.returncode is None


async def test_pub01_stopped_right_after_its_permission_it_has_no_effect(
    jobs: FakeJobService, launch: Launch, tmp_path: Path
) -> None:
    """The permission to start is answered, then the process sleeps through its lease: no file is written."""
    process = await launch("sleeper")

    async def stop_it(call: str, job: FakeJob | None) -> None:
        if call == "start":
            process.send_signal(signal.SIGSTOP)

    jobs.before = stop_it
    job = jobs.execution("file_append", {"path": "x.md", "text": "x"})

    assert await jobs.ended(job) == ("lost", "runner_lost")
    process.send_signal(signal.SIGCONT)
    await jobs.ended(jobs.inference("the runner goes on"))
    assert not (tmp_path / "files" / "x.md").exists()


async def test_pub07_killed_during_an_execution_it_is_not_executed_again(
    jobs: FakeJobService, launch: Launch, tmp_path: Path
) -> None:
    process = await launch("killed")
    job = jobs.execution("shell", {"command": "echo once >> count; sleep 30"})
    count = tmp_path / "files" / "count"
    await jobs.until(count.exists)

    process.kill()
    await launch("next")

    assert await jobs.ended(job) == ("lost", "runner_lost")
    assert (await jobs.ended(jobs.inference("the next goes on")))[0] == "done"
    assert count.read_text() == "once\n"


async def test_pub07_killed_during_an_inference_another_does_it(jobs: FakeJobService, launch: Launch) -> None:
    process = await launch("killed")
    job = jobs.inference(f"x [[slow {int(LEASE * 1500)}ms]]")
    await jobs.until(lambda: job.state == "leased")

    process.kill()
    await launch("next")

    assert (await jobs.ended(job))[0] == "done"
    assert (job.runner_id, job.attempt) == ("next", 2)


async def test_terminated_it_gives_back_what_it_cannot_finish_and_exits_0(jobs: FakeJobService, launch: Launch) -> None:
    process = await launch("leaving")
    job = jobs.inference("x [[slow 60s]]")
    await jobs.until(lambda: job.state == "leased")

    process.terminate()
    async with asyncio.timeout(60):
        code = await process.wait()

    assert code == 0
    assert job.end == ("runner_stopped", True)


@pytest.mark.parametrize(
    "variable",
    ["TREADLE_HTTP_ALLOW=http://x", "TREADLE_RUNNER_CONCURRENCY=0", "TREADLE_PROVIDER=nobody", "TREADLE_RUNNER_ID=a b"],
)
async def test_wrong_settings_are_told_and_end_with_code_2(variable: str) -> None:
    name, _, value = variable.partition("=")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), name: value}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.runner", env=environment, stderr=asyncio.subprocess.PIPE
    )
    _, told = await process.communicate()

    assert process.returncode == 2
    assert name in told.decode()
