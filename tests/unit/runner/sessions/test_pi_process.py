"""Pi's process when it misbehaves: floods, garbage, silence, deaths, orphans (design/streaming.md D2.5, D2.7)."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from services.runner.application.agents import AgentFault
from services.runner.domain.agent import (
    AgentGone,
    GateClosed,
    GateOpened,
    Outcome,
    Tool,
    TurnFailure,
    TurnSettled,
)
from services.runner.sessions.pi.adapter import Pi, sweep_strays
from services.runner.sessions.pi.agent import PiAgent, PiTiming
from services.runner.sessions.pi.launch import PiInstallation
from tests.unit.runner.sessions.heard import Heard, task

FAKE = Path(__file__).parents[3] / "fakes" / "pi_child.py"
Open = Callable[..., Awaitable[tuple[PiAgent, Heard]]]


@pytest.fixture
def sleep() -> str:
    """A time to sleep for that nobody else sleeps for: by it the commands of this test are found."""
    return f"6{uuid.uuid4().int % 10**9}"


@pytest.fixture
async def open_pi(tmp_path: Path, sleep: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Open]:
    monkeypatch.setenv("FAKE_SLEEP", sleep)
    opened: list[PiAgent] = []

    async def start(timing: PiTiming | None = None) -> tuple[PiAgent, Heard]:
        heard = Heard()
        installation = PiInstallation((sys.executable, str(FAKE)), tmp_path, ("FAKE_SLEEP",))
        agent = Pi(installation, timing).open(task(), heard.emit)
        assert isinstance(agent, PiAgent)
        opened.append(agent)
        await agent.start()
        return agent, heard

    yield start
    for agent in opened:
        await agent.stop()
    await until_gone(sleep)


def running(sleep: str) -> list[psutil.Process]:
    """Live commands of this test."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if ["sleep", sleep] == process.info["cmdline"] and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


async def until_runs(sleep: str) -> None:
    async with asyncio.timeout(60):
        while not running(sleep):
            await asyncio.sleep(0.01)


async def until_gone(sleep: str) -> None:
    """A signal takes a moment."""
    async with asyncio.timeout(60):
        while running(sleep):
            await asyncio.sleep(0.01)


def pid_of(agent: PiAgent) -> int:
    assert agent._child is not None
    return agent._child.pid


async def test_a_turn(open_pi: Open) -> None:
    agent, heard = await open_pi()
    await agent.prompt("hello")
    assert await heard.settled() == TurnSettled(Outcome.OK, "said hello")


async def test_d27_20_a_flood_on_stderr_does_not_block_and_goes_nowhere(open_pi: Open) -> None:
    agent, heard = await open_pi()
    await agent.prompt("flood")
    assert (await heard.settled()).text == "done"
    assert "SECRET" not in repr(heard.events)


@pytest.mark.parametrize("what", ["garbage", "huge"])
async def test_d27_15_garbage_and_huge_lines_do_not_end_it(open_pi: Open, what: str) -> None:
    agent, heard = await open_pi()
    await agent.prompt(what)
    assert (await heard.settled()).text == "done"


@pytest.mark.parametrize("what", ["overlong", "torn"])
async def test_d27_15_broken_framing_is_a_protocol_error(open_pi: Open, what: str) -> None:
    agent, heard = await open_pi()
    await agent.prompt(what)
    assert (await heard.settled()).end is TurnFailure.PROTOCOL_ERROR
    await heard.until(AgentGone)


@pytest.mark.parametrize("code", ["7", "0"])
async def test_d27_10_any_exit_in_a_turn_is_child_exit(open_pi: Open, code: str) -> None:
    agent, heard = await open_pi()
    await agent.prompt(f"exit {code}")
    assert (await heard.settled()).end is TurnFailure.CHILD_EXIT
    await heard.until(AgentGone)


async def test_an_exit_while_idle_fails_no_turn(open_pi: Open) -> None:
    agent, heard = await open_pi()
    os.kill(pid_of(agent), signal.SIGKILL)
    await heard.until(AgentGone)
    assert heard.of(TurnSettled) == []


@pytest.mark.parametrize("size", [2_000, 200_000])
async def test_d27_16_long_answers_take_bounded_memory(open_pi: Open, size: int) -> None:
    agent, heard = await open_pi()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await agent.prompt(f"long {size}")
    assert len((await heard.settled()).text) == size
    assert len(heard.text) == size
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


async def test_d27_17_a_silent_provider_is_given_up(open_pi: Open) -> None:
    agent, heard = await open_pi(PiTiming(silence=0.3))
    await agent.prompt("silent")
    assert (await heard.settled()).end is TurnFailure.PROVIDER_TIMEOUT
    await agent.prompt("hello")
    assert (await heard.settled(2)).end is Outcome.OK


async def test_d27_17_one_that_is_deaf_as_well_is_stopped(open_pi: Open) -> None:
    agent, heard = await open_pi(PiTiming(silence=0.3, abort=0.2))
    await agent.prompt("deaf")
    assert (await heard.settled()).end is TurnFailure.PROVIDER_TIMEOUT
    await heard.until(AgentGone)


async def test_d27_17_silence_while_a_tool_or_a_reviewer_is_at_work_is_fine(open_pi: Open, sleep: str) -> None:
    """The silence is longer than a slow machine takes to begin the call, and the wait longer than the silence."""
    agent, heard = await open_pi(PiTiming(silence=3))
    await agent.prompt("bash")
    await heard.until(Tool)
    until = time.monotonic() + 4
    while time.monotonic() < until:
        await asyncio.sleep(0.1)
    assert heard.of(TurnSettled) == []


async def test_d27_09_an_abort_in_a_dialog_ends_the_turn_and_not_the_child(open_pi: Open) -> None:
    agent, heard = await open_pi(PiTiming(abort=60))
    await agent.prompt("dialog")
    await heard.until(GateOpened)
    await agent.abort()
    assert (await heard.settled()).end is Outcome.ABORTED
    assert len(heard.of(GateClosed)) == 1
    await agent.prompt("again")
    assert (await heard.settled(2)).text == "said again"


async def test_an_abort_that_is_not_heard_stops_the_child_and_counts_as_aborted(open_pi: Open) -> None:
    agent, heard = await open_pi(PiTiming(abort=0.2))
    await agent.prompt("deaf")
    await agent.abort()
    assert (await heard.settled()).end is Outcome.ABORTED


@pytest.mark.parametrize("what", ["bash", "stubborn"])
@pytest.mark.parametrize("cause", ["stop", "abort", "killed", "group killed"])
async def test_d27_20b_no_stop_leaves_an_orphan(open_pi: Open, sleep: str, what: str, cause: str) -> None:
    agent, heard = await open_pi(PiTiming(abort=0.2))
    await agent.prompt(what)
    await until_runs(sleep)
    match cause:
        case "stop":
            await agent.stop()
        case "abort":
            await agent.abort()
            await heard.settled()
            await agent.stop()
        case "killed":
            os.kill(pid_of(agent), signal.SIGKILL)
            await heard.until(AgentGone)
        case _:
            os.killpg(pid_of(agent), signal.SIGKILL)
            await heard.until(AgentGone)
    await until_gone(sleep)
    tools = [tool.status for tool in heard.of(Tool)]
    assert cause == "stop" or tools == ["running", "failed"]


async def test_a_stop_of_a_full_house_does_not_wait_for_its_reader(open_pi: Open, tmp_path: Path) -> None:
    """Nobody takes what the agent says: it can be stopped all the same."""
    blocked = asyncio.Event()

    async def emit(event: object) -> None:
        blocked.set()
        await asyncio.Event().wait()

    agent = Pi(PiInstallation((sys.executable, str(FAKE)), tmp_path), PiTiming(abort=0.2)).open(task(), emit)
    await agent.start()
    await agent.prompt("hello")
    await blocked.wait()
    async with asyncio.timeout(60):
        await agent.stop()


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    agent = Pi(PiInstallation((str(tmp_path / "no-pi"),), tmp_path)).open(task(), Heard().emit)
    with pytest.raises(AgentFault):
        await agent.start()
    await agent.stop()


async def test_d27_14_a_bogus_thinking_level_never_reaches_pi(tmp_path: Path) -> None:
    agent = Pi(PiInstallation((sys.executable, str(FAKE)), tmp_path)).open(task(thinking="loud"), Heard().emit)
    with pytest.raises(AgentFault, match="thinking"):
        await agent.start()
    await agent.stop()


async def test_one_that_dies_at_the_start_is_told(tmp_path: Path) -> None:
    agent = Pi(PiInstallation((sys.executable, "-c", "import sys; sys.exit(3)"), tmp_path)).open(task(), Heard().emit)
    with pytest.raises(AgentFault, match="ended with 3"):
        await agent.start()
    await agent.stop()


async def test_d27_13_a_conversation_that_pi_did_not_take_is_told(tmp_path: Path) -> None:
    state = b'{"type":"message"}\n'
    agent = Pi(PiInstallation((sys.executable, str(FAKE)), tmp_path)).open(task(state=state), Heard().emit)
    with pytest.raises(AgentFault, match="did not take"):
        await agent.start()
    await agent.stop()


async def test_the_next_runner_ends_what_a_killed_one_has_left(tmp_path: Path, sleep: str) -> None:
    """A runner that is killed cannot clean up: its child reads the end of its input and leaves, the command stays."""
    runner = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _RUNNER,
        str(FAKE),
        str(tmp_path),
        env={**os.environ, "FAKE_SLEEP": sleep, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    await until_runs(sleep)
    sweep_strays()
    assert running(sleep) != []
    runner.kill()
    await runner.wait()
    sweep_strays()
    await until_gone(sleep)


_RUNNER = """
import asyncio, sys
from pathlib import Path
from services.runner.domain.agent import AgentTask
from services.runner.sessions.pi.adapter import Pi, sweep_strays
from services.runner.sessions.pi.launch import PiInstallation

async def emit(event): pass

async def main():
    installation = PiInstallation((sys.executable, sys.argv[1]), Path(sys.argv[2]), ("FAKE_SLEEP",))
    agent = Pi(installation).open(AgentTask("ses_1", "", "m", "medium"), emit)
    await agent.start()
    await agent.prompt("bash")
    await asyncio.sleep(60)

asyncio.run(main())
"""
