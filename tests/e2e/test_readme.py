"""The README's programs and transcripts run as they stand there, in order, on one Treadle."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.stack import Stack, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """What `make run` starts, without its story."""
    async with running_stack(tmp_path_factory.mktemp("readme")) as running:
        yield running


def block(heading: str, language: str) -> str:
    """The one block of that language under the heading."""
    section = README.read_text().partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    [found] = [text for name, text in fences if name == language]
    return str(found)


async def told_by(stack: Stack, folder: Path, *command: str) -> list[str]:
    """What a command says; it must end well."""
    running = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={"TREADLE_URL": stack.url, "TREADLE_HOME": str(stack.home), "PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await running.communicate()
    assert running.returncode == 0, f"{out.decode()}\n{err.decode()}"
    return [*out.decode().splitlines(), *err.decode().splitlines()]


async def test_the_first_five_minutes(stack: Stack, tmp_path: Path) -> None:
    program = block("## The first five minutes", "sh")
    for shell in ("sh", "bash"):
        told = await told_by(stack, tmp_path, shell, "-eu", "-c", program)
        assert told[:2] == ["Note the meeting", "awaiting_inference"]
        assert told[2] == "executing"
        assert told[3].startswith("already decided: approve by user local")
        assert set(told[4:]) == {"the meeting is on Tuesday"}


async def test_a_family_through_its_whole_life(stack: Stack, tmp_path: Path) -> None:
    told = await told_by(stack, tmp_path, "bash", "-c", block("## Threads", "bash"))
    printed = block("## Threads", "").splitlines()
    before, after = printed[: printed.index("…")], printed[printed.index("…") + 1 :]
    assert told[: len(before)] == before
    shown = [line.rstrip() for line in told if not line.startswith("Waits for")]
    for line in after:
        if not line.startswith("Waits for"):  # how many of them depends on how fast a runner is
            assert line in shown, line


async def test_the_transcript_of_a_session(stack: Stack, tmp_path: Path) -> None:
    """Command by command: what is printed is what stands there, but for the session's id."""
    parts = re.split(r"^\$ ", block("## Sessions", "console"), flags=re.MULTILINE)[1:]
    session = ""
    for part in parts:
        command, _, printed = part.partition("\n")
        words = shlex.split(command, comments=True)
        assert words.pop(0) == "treadle"
        asked = [session[-8:] if re.fullmatch(r"[0-9a-f]{8}", word) else word for word in words]
        told = await told_by(stack, tmp_path, sys.executable, "-m", "services.cli.main", *asked)
        session = session or told[0]
        shown = [_cursor(line) for line in told if not line.startswith("go on:") or "go on:" in printed]
        assert shown == [_cursor(re.sub(r"ses_[0-9a-f]{32}", session, line)) for line in printed.splitlines()], command


def _cursor(line: str) -> str:
    """How many events a turn has depends on which of them a runner sends together."""
    return re.sub(r"--since 1-\d+$", "--since 1-N", line)


async def test_the_outside_coordinator_fans_out_waits_collects_notes_and_answers(stack: Stack, tmp_path: Path) -> None:
    told = await told_by(stack, tmp_path, sys.executable, "-c", block("## Workers", "python"))
    assert told[:3] == ["## Thread mode — coordinator", "spawned: train, bus, ferry", "all have ended: True"]
    assert [line.split(": ")[:2] for line in told[3:6]] == [
        [name, "succeeded (completed)"] for name in ("train", "bus", "ferry")
    ]
    assert told[6] == "notes: 1"
    session = told[7].rpartition("/")[2]
    async with stack.client(30) as http:
        messages = (await http.get(f"/api/sessions/{session}/messages")).json()["messages"]
        assert [one["role"] for one in messages] == ["user", "assistant"]
        assert messages[1]["text"].startswith("- train: ")
        told_to_agent = (await http.get(f"/api/sessions/{session}/context")).json()
        assert told_to_agent["role"] == "coordinator"


async def test_the_story_of_plans_and_branches(stack: Stack, tmp_path: Path) -> None:
    program = block("## Plans and branches", "sh")
    said = await told_by(stack, tmp_path, "bash", "-eu", "-o", "pipefail", "-c", program)
    told = [line for line in said if not line.startswith("turn: ")]
    assert told == [
        *("Ship release 2", "1"),
        *("1 Write the notes", "2 Build", "2.1 for Linux", "2.2 for macOS", "3 Announce"),
        *("macOS is built.", "", "I remember 2 turns, the last: Linux is built. [[done 3]]"),
        *("1 Write the notes (done)", "2 Build", "2.1 for Linux (done)", "2.2 for macOS (done)"),
        *("3 Announce", "4 Thank the testers"),
        *("Ship for Linux only -> Ship release 2", "added: for macOS", "added: Thank the testers"),
        *("1 Write the notes (done)", "2 Build", "2.1 for Linux (done)", "3 Announce", "4 Thank the testers"),
    ]
