"""The README's programs run as they stand there."""

from __future__ import annotations

import asyncio
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
