"""The README's programs run as they stand there."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.stack import running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
README = Path(__file__).parents[2] / "README.md"


async def test_the_outside_coordinator_fans_out_waits_collects_notes_and_answers(tmp_path: Path) -> None:
    [program] = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    async with running_stack(tmp_path) as stack:
        running = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            env={"TREADLE_URL": stack.url, "PATH": "/usr/bin:/bin"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await running.communicate()
        assert running.returncode == 0, err.decode()
        told = out.decode().splitlines()
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


async def test_the_story_of_plans_and_branches(tmp_path: Path) -> None:
    section = README.read_text().partition("\n## Plans and branches\n")[2].partition("\n## ")[0]
    [program] = re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    async with running_stack(tmp_path) as stack:
        running = await asyncio.create_subprocess_exec(
            *("bash", "-eu", "-o", "pipefail", "-c", program),
            cwd=tmp_path,
            env={"TREADLE_URL": stack.url, "PATH": os.environ["PATH"]},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await running.communicate()
        assert running.returncode == 0, f"{out.decode()}\n{err.decode()}"
    told = [line for line in out.decode().splitlines() if not line.startswith("turn: ")]
    assert told == [
        *("Ship release 2", "1"),
        *("1 Write the notes", "2 Build", "2.1 for Linux", "2.2 for macOS", "3 Announce"),
        *("macOS is built.", "", "I remember 2 turns, the last: Linux is built. [[done 3]]"),
        *("1 Write the notes (done)", "2 Build", "2.1 for Linux (done)", "2.2 for macOS (done)"),
        *("3 Announce", "4 Thank the testers"),
        *("Ship for Linux only -> Ship release 2", "added: for macOS", "added: Thank the testers"),
        *("1 Write the notes (done)", "2 Build", "2.1 for Linux (done)", "3 Announce", "4 Thank the testers"),
    ]
