"""The commands against the house as `treadle up` runs it: the story, and a person's day on the command line."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from services.cli.exits import Exit
from tests.stack import Stack, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
STORY = ["awaiting_confirmation", "done", "awaiting_action_clarification"]
STORY += ["awaiting_confirmation", "dismissed", "awaiting_redirect"]


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.out)


@dataclass
class House:
    """A running Treadle and its command."""

    stack: Stack

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "services.cli.main", *words),
            env={**os.environ, "TREADLE_URL": self.stack.url, "TREADLE_HOME": str(self.stack.home)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def treadle(self, *words: str) -> Ended:
        process = await self.start(*words)
        out, err = await process.communicate()
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode())

    async def proposed(self, title: str) -> str:
        thread = str((await self.treadle("threads", "new", title, "--json")).json["id"])
        done = await self.treadle("threads", "watch", thread, "--until", "awaiting_confirmation", "--timeout", "30")
        assert done.code == Exit.OK, done.err
        return thread


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with running_stack(tmp_path_factory.mktemp("commands")) as stack:
        yield House(stack)


async def test_the_story_is_told_once_however_often_it_is_told(house: House) -> None:
    told = [await house.treadle("demo", "--json") for _ in range(2)]
    together = await asyncio.gather(*(house.treadle("demo", "--json") for _ in range(3)))

    for each in (*told, *together):
        assert each.code == Exit.OK, each.err
        assert [card["state"] for card in each.json["threads"]] == STORY
        assert [card["id"] for card in each.json["threads"]] == [card["id"] for card in told[0].json["threads"]]
    cards = told[0].json["threads"]
    assert cards[3]["actions"][0]["parameters"]["path"] == "rota.md"
    assert cards[5]["failure_context"]["code"] == "host_not_allowed"
    assert "linen" in (house.stack.home / "files" / "decisions.md").read_text()
    assert (await house.treadle("inbox", "--json")).json["total_size"] == 4


async def test_a_persons_day(house: House) -> None:
    thread = await house.proposed("Append the rota to wrong.md")

    assert "wrong.md" in (await house.treadle("threads", "show", thread[-8:])).out
    assert "accept" in (await house.treadle("threads", "why", thread)).out
    shown = (await house.treadle("threads", "show", thread, "--json")).json["actions"][0]
    assert (await house.treadle("threads", "redirect", thread, "into right.md")).code == Exit.OK
    watched = await house.treadle("threads", "watch", thread, "--until", "awaiting_confirmation", "--timeout", "30")
    assert watched.code == Exit.OK

    late = ("--proposal-id", shown["proposal_id"], "--proposal-digest", shown["proposal_digest"])
    assert (await house.treadle("threads", "approve", thread, *late)).code == Exit.REFUSED
    assert (await house.treadle("threads", "approve", thread, "--set", "text=Tuesday")).code == Exit.OK
    assert (await house.treadle("threads", "watch", thread, "--until", "done", "--timeout", "30")).code == Exit.OK
    assert (house.stack.home / "files" / "right.md").read_text() == "Tuesday\n"

    lost = await house.treadle("threads", "dismiss", thread)
    assert lost.code == Exit.REFUSED
    assert "state done" in lost.err
    assert (await house.treadle("threads", "watch", thread, "--until", "dismissed")).code == Exit.REFUSED
    log = (await house.treadle("threads", "show", thread, "--events", "--json")).json["events"]
    assert [int(event["seq"]) for event in log] == list(range(1, len(log) + 1))


async def test_pub01_twenty_approvals_on_the_command_line_execute_once(house: House) -> None:
    thread = await house.proposed("Append once to once.md")

    ended = await asyncio.gather(*(house.treadle("threads", "approve", thread, "--json") for _ in range(20)))

    assert sorted(each.code for each in ended) == [Exit.OK] + [Exit.REFUSED] * 19
    assert (await house.treadle("threads", "watch", thread, "--until", "done", "--timeout", "30")).code == Exit.OK
    assert (house.stack.home / "files" / "once.md").read_text() == "once\n"


async def test_watching_ends_with_ctrl_c_and_tells_what_happened_meanwhile(house: House) -> None:
    watching = await house.start("threads", "watch", "--all", "--json")
    thread = await house.proposed("Append seen to seen.md")
    assert watching.stdout is not None
    async with asyncio.timeout(30):
        while True:
            event = orjson.loads(await watching.stdout.readline())
            if event["thread_id"] == thread and event.get("to") == "awaiting_confirmation":
                break

    watching.send_signal(signal.SIGINT)
    async with asyncio.timeout(10):
        assert await watching.wait() == Exit.INTERRUPTED


async def test_the_doctor_finds_nothing_wrong(house: House) -> None:
    told = await house.treadle("doctor", "--json")

    assert told.code == Exit.OK, told.out
    assert {check["verdict"] for check in told.json["checks"]} <= {"ok", "warn"}


async def test_up_with_a_demo_fills_the_story_once(tmp_path: Path) -> None:
    async with running_stack(tmp_path, demo=True) as stack:
        first = (await House(stack).treadle("threads", "list", "--json")).json["threads"]
        await stack.stop()
        await stack.start()
        second = (await House(stack).treadle("threads", "list", "--json")).json["threads"]

    assert len(first) == len(STORY)
    assert [card["id"] for card in first] == [card["id"] for card in second]
