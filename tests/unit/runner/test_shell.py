"""shell: off by default, capped, timed, and gone with all its children when it ends."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import psutil
import pytest

from services.runner.actions.shell import MOST_OUTPUT, Shell
from services.runner.domain.failure import Code, Failed
from tests.unit.runner.tasks import execute


def shell(tmp_path: Path, *, enabled: bool = True) -> Shell:
    return Shell(tmp_path / "files", enabled=enabled, timeout=20)


async def failure(action: Shell, command: str, **more: float) -> Failed:
    with pytest.raises(Failed) as failed:
        await action.execute(execute("shell", {"command": command, **more}))
    return failed.value


async def test_is_off_unless_switched_on(tmp_path: Path) -> None:
    failed = await failure(shell(tmp_path, enabled=False), "touch here")

    assert failed.code is Code.ACTION_DISABLED
    assert not (tmp_path / "files" / "here").exists()


async def test_runs_in_the_files_folder_with_a_small_environment(tmp_path: Path) -> None:
    result = await shell(tmp_path).execute(execute("shell", {"command": "pwd; env | cut -d= -f1 | sort"}))

    lines = result["output"].split()
    assert lines[0] == str(tmp_path / "files")
    assert set(lines[1:]) <= {"HOME", "LANG", "PATH", "PWD", "OLDPWD", "SHLVL", "TREADLE_COMMAND_MARK", "_"}


async def test_another_exit_code_is_a_failure_with_its_output_in_the_detail(tmp_path: Path) -> None:
    failed = await failure(shell(tmp_path), "echo why >&2; exit 3")

    assert failed.code is Code.ACTION_FAILED
    assert "exit code 3" in failed.detail
    assert "why" in failed.detail


async def test_output_is_capped_and_says_so(tmp_path: Path) -> None:
    result = await shell(tmp_path).execute(execute("shell", {"command": "yes | head -c 1000000"}))

    assert (len(result["output"]), result["truncated"]) == (MOST_OUTPUT, True)


async def all_gone(mark: str) -> bool:
    """A killed process takes a moment to leave the table."""
    async with asyncio.timeout(60):
        while sleepers(mark):
            await asyncio.sleep(0.01)
    return True


def sleepers(mark: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if f"sleep {mark}" in " ".join(p.info["cmdline"] or [])]


async def test_a_timeout_kills_the_whole_group(tmp_path: Path) -> None:
    failed = await failure(shell(tmp_path), "sleep 971 & sleep 971", timeout_seconds=0.1)

    assert failed.code is Code.TIMEOUT
    assert await all_gone("971")


async def test_children_left_behind_are_killed(tmp_path: Path) -> None:
    await shell(tmp_path).execute(execute("shell", {"command": "sleep 972 >/dev/null 2>&1 & echo left"}))

    assert await all_gone("972")


@pytest.mark.parametrize("timeout", [60.0, 4.0])
async def test_children_that_left_the_group_are_killed_as_well(tmp_path: Path, timeout: float) -> None:
    """Also one that keeps the output open, by which the command itself seems to go on."""
    output = ">/dev/null 2>&1" if timeout > 10 else ""
    command = f"setsid sh -c 'touch started; sleep 975; true' {output} & while [ ! -e started ]; do sleep 0.02; done"
    task = execute("shell", {"command": command, "timeout_seconds": timeout})
    with contextlib.suppress(Failed):
        await shell(tmp_path).execute(task)

    assert timeout < 10 or (tmp_path / "files" / "started").exists()
    assert await all_gone("975")


async def test_a_cancel_kills_it_even_if_it_ignores_term(tmp_path: Path) -> None:
    command = "trap '' TERM; touch started; sleep 973 & while :; do sleep 973; done"
    running = asyncio.create_task(shell(tmp_path).execute(execute("shell", {"command": command})))
    while not (tmp_path / "files" / "started").exists():
        await asyncio.sleep(0.01)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert await all_gone("973")


async def test_a_cancel_during_the_launch_leaves_nothing_behind(tmp_path: Path) -> None:
    for turns in range(12):
        command = "trap '' TERM; sleep 974 & while :; do sleep 974; done"
        running = asyncio.create_task(shell(tmp_path).execute(execute("shell", {"command": command})))
        for _ in range(turns):
            await asyncio.sleep(0)

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    assert await all_gone("974")
