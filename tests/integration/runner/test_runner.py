"""The runner over real gRPC: claims, leases, cancels, fences, a server that goes and comes back, the drain."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from services.kernel.errors import Invalid, Unavailable
from services.kernel.lifecycle import Lifecycle
from services.runner.main import build
from services.runner.settings import RunnerSettings
from tests.fakes.job_service import FakeJob, FakeJobService, FakeThreads
from tests.integration.runner.conftest import LEASE, StartRunner


async def test_infers(jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner) -> None:
    await start_runner(settings)

    end, result = await jobs.ended(jobs.inference("Call the weaver"))

    assert end == "done"
    assert result["payload"] == {"intent": "Call the weaver"}
    assert (result["confidence"], result["model_used"], result["cost_usd"]) == (0.9, "scripted", 0.0)


async def test_executes_for_real_and_says_so_before_the_first_effect(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner, tmp_path: Path
) -> None:
    file = tmp_path / "files" / "x.md"
    calls: list[tuple[str, bool]] = []

    async def watch(call: str, job: FakeJob | None) -> None:
        calls.append((call, file.exists()))

    jobs.before = watch
    await start_runner(settings)

    end, result = await jobs.ended(jobs.execution("file_append", {"path": "x.md", "text": "one"}))

    assert (end, result["success"], result["result"]["bytes"]) == ("done", True, 4)
    assert file.read_text() == "one\n"
    assert [call for call in calls if call[0] != "claim"] == [("start", False), ("complete", True)]


@pytest.mark.parametrize(
    ("name", "parameters", "code", "started"),
    [
        ("file_append", {"path": "../x.md", "text": "x"}, "path_refused", True),
        ("file_append", {"path": "x.md"}, "invalid_parameters", False),
        ("nonsense", {}, "unknown_action", False),
        ("http_request", {"url": "http://192.0.2.1/"}, "host_not_allowed", True),
        ("shell", {"command": "exit 1"}, "action_failed", True),
        ("shell", {"command": "sleep 60", "timeout_seconds": 0.1}, "timeout", True),
    ],
)
async def test_a_failure_has_a_stable_code(
    jobs: FakeJobService,
    settings: RunnerSettings,
    start_runner: StartRunner,
    name: str,
    parameters: dict[str, object],
    code: str,
    started: bool,
) -> None:
    await start_runner(settings)
    job = jobs.execution(name, parameters)

    assert await jobs.ended(job) == (code, False)
    assert job.started is started


async def test_a_provider_that_fails_says_whether_to_try_again(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner
) -> None:
    await start_runner(settings)

    assert await jobs.ended(jobs.inference("x [[fail]]")) == ("provider_error", False)
    assert await jobs.ended(jobs.inference("x [[fail 2]]")) == ("provider_error", True)
    assert await jobs.ended(jobs.inference("x", target="nonsense")) == ("invalid_payload", False)


async def test_an_empty_answer_is_an_answer(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner
) -> None:
    await start_runner(settings)

    end, result = await jobs.ended(jobs.inference("x [[empty]]"))

    assert (end, result["payload"]) == ("done", {})


async def test_a_result_that_the_owner_refuses_becomes_a_failure(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner
) -> None:
    async def refuse(call: str, job: FakeJob | None) -> None:
        if call == "complete":
            raise Invalid("INVALID_PARAMETERS", "the proposal does not fit")

    jobs.before = refuse
    await start_runner(settings)

    assert await jobs.ended(jobs.inference("x")) == ("result_refused", True)


async def test_never_more_at_a_time_than_the_setting_says(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner
) -> None:
    work = [jobs.inference(f"x{n} [[slow 30ms]]") for n in range(30)]

    await start_runner(settings.model_copy(update={"runner_concurrency": 3}))
    await jobs.until(lambda: all(job.ends for job in work))

    assert {job.end[0] for job in work} == {"done"}
    assert jobs.most_leased == 3


async def test_a_long_job_keeps_its_lease(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner
) -> None:
    await start_runner(settings)
    job = jobs.inference(f"x [[slow {int(LEASE * 1750)}ms]]")

    assert (await jobs.ended(job))[0] == "done"
    assert (job.attempt, job.refused) == (1, [])
    assert job.heartbeats >= 5


async def test_pub02_d_a_cancel_stops_the_work_and_is_reported(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner, tmp_path: Path
) -> None:
    """The command ignores TERM and takes longer than a lease to die: heartbeats go on until it is reported."""
    await start_runner(settings.model_copy(update={"drain_seconds": 20}))
    job = jobs.execution("shell", {"command": "trap '' TERM; touch started; while :; do sleep 1; done"})
    await jobs.until(lambda: (tmp_path / "files" / "started").exists())

    job.cancel = True

    assert await jobs.ended(job) == ("cancelled", False)
    assert job.refused == []


async def test_a_cancel_that_comes_too_late_does_not_hide_what_happened(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner, tmp_path: Path
) -> None:
    async def cancel(call: str, job: FakeJob | None) -> None:
        if call == "start" and job is not None:
            job.cancel = True

    jobs.before = cancel
    await start_runner(settings)

    assert (await jobs.ended(jobs.execution("file_append", {"path": "x.md", "text": "x"})))[0] == "done"
    assert (tmp_path / "files" / "x.md").read_text() == "x\n"


async def test_pub01_a_fence_that_was_passed_by_stops_before_the_first_effect(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner, tmp_path: Path
) -> None:
    async def take_over(call: str, job: FakeJob | None) -> None:
        if call == "start" and job is not None:
            job.fence += 1

    jobs.before = take_over
    await start_runner(settings)
    job = jobs.execution("file_append", {"path": "x.md", "text": "x"})

    await jobs.until(lambda: job.refused == ["start"])
    await jobs.ended(jobs.inference("the runner goes on"))

    assert not (tmp_path / "files").exists()
    assert job.ends == []


async def test_pub02_b_a_late_completion_changes_nothing(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner
) -> None:
    async def take_over(call: str, job: FakeJob | None) -> None:
        if call == "complete" and job is not None and job.id == "job_1":
            job.fence += 1

    jobs.before = take_over
    await start_runner(settings)
    late = jobs.inference("late")

    await jobs.until(lambda: late.refused == ["complete"])
    await jobs.ended(jobs.inference("the runner goes on"))

    assert late.ends == []


async def test_a_lost_lease_stops_the_work(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner, tmp_path: Path
) -> None:
    await start_runner(settings)
    job = jobs.execution("shell", {"command": "touch started; sleep 974"})
    await jobs.until(lambda: (tmp_path / "files" / "started").exists())

    job.fence += 1
    await jobs.until(lambda: "heartbeat" in job.refused)
    await jobs.until(lambda: not any("sleep 974" in " ".join(p.info["cmdline"] or ()) for p in _processes()))
    await jobs.ended(jobs.inference("the runner goes on"))

    assert "fail" not in job.refused, "nothing is reported for a lease that is lost"


def _processes() -> list[psutil.Process]:
    return list(psutil.process_iter(["cmdline"]))


async def test_pub08_a_claim_whose_answer_is_lost_is_asked_again_under_its_id(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner, tmp_path: Path
) -> None:
    lost: list[str] = []

    async def lose(call: str, job: FakeJob | None) -> None:
        if job is not None and len(lost) < 2:
            lost.append(job.id)
            raise Unavailable("GONE", "the answer is lost on the way")

    jobs.after_claim = lose
    await start_runner(settings)
    job = jobs.execution("file_append", {"path": "x.md", "text": "x"})

    assert (await jobs.ended(job))[0] == "done"
    assert (tmp_path / "files" / "x.md").read_text() == "x\n"
    assert lost == [job.id, job.id]
    assert len({request.claim_id for request in jobs.claims[:3]}) == 1
    assert job.attempt == 1


async def test_pub07_a_server_that_goes_and_comes_back_finds_its_runner(
    jobs: FakeJobService, threads: FakeThreads, settings: RunnerSettings, start_runner: StartRunner
) -> None:
    await start_runner(settings)
    running = jobs.inference("x [[slow 400ms]]")
    await jobs.until(lambda: running.state == "leased")

    await threads.stop()
    await asyncio.sleep(0.1)
    await threads.start()

    assert (await jobs.ended(running))[0] == "done"
    assert running.attempt == 1, "the result outlives the restart"
    assert (await jobs.ended(jobs.inference("after")))[0] == "done"


async def test_pub07_without_its_server_for_a_whole_lease_the_runner_stops_the_work(
    jobs: FakeJobService, threads: FakeThreads, settings: RunnerSettings, start_runner: StartRunner, tmp_path: Path
) -> None:
    await start_runner(settings)
    files = tmp_path / "files"
    job = jobs.execution("shell", {"command": "trap 'touch stopped; exit' TERM; touch started; sleep 60 & wait"})
    await jobs.until(lambda: (files / "started").exists())

    await threads.stop()
    await jobs.until(lambda: (files / "stopped").exists())
    await threads.start()

    assert await jobs.ended(job) == ("lost", "runner_lost")
    assert (await jobs.ended(jobs.inference("after")))[0] == "done"


async def test_a_drain_claims_no_more_lets_work_end_and_stops_the_rest(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner
) -> None:
    life = await start_runner(settings)
    short, long = jobs.inference("x [[slow 500ms]]"), jobs.inference("x [[slow 60s]]")
    await jobs.until(lambda: short.state == long.state == "leased" and jobs.open_claims > 0)

    draining = asyncio.create_task(life.drain())
    # The claim that was cut short is asked once more, without waiting.
    await jobs.until(lambda: jobs.claims[-1].wait.ToNanoseconds() == 0 and jobs.open_claims == 0)
    late = jobs.inference("too late")
    async with asyncio.timeout(60):
        await draining

    assert short.end[0] == "done"
    assert long.end == ("runner_stopped", True)
    assert late.state == "queued"


async def test_an_idle_runner_drains_at_once(
    jobs: FakeJobService, settings: RunnerSettings, start_runner: StartRunner
) -> None:
    life = await start_runner(settings.model_copy(update={"drain_seconds": 200}))
    await jobs.until(lambda: bool(jobs.claims))

    async with asyncio.timeout(60):
        await life.drain()


async def test_with_a_secret_the_runner_shows_a_token_of_its_own(jobs: FakeJobService, tmp_path: Path) -> None:
    secret = "s" * 32
    threads = FakeThreads(jobs, secret)
    await threads.start()
    settings = RunnerSettings(threads_target=threads.address, home=tmp_path, auth_secret=secret, drain_seconds=2)
    async with Lifecycle("runner", 2) as life:
        await build(settings, life)
        end, _ = await jobs.ended(jobs.inference("x"))
    await threads.stop()

    assert end == "done"
