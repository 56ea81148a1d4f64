"""`treadle verify` may run at any time: while turns, branches, workers and matters are under way it finds nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from tests.e2e.matter import Matters
from tests.e2e.test_sessions import Sessions
from tests.e2e.test_workers import QUICK
from tests.e2e.verified import assert_verified
from tests.e2e.workers import coordinating
from tests.stack import running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
LOOKS = 6


async def test_nothing_is_found_while_everything_is_under_way(tmp_path: Path) -> None:
    async with running_stack(tmp_path, environment=QUICK) as stack, stack.client(60) as client:
        over = asyncio.Event()
        rounds = [0, 0, 0]

        async def again(number: int, what: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
            while not over.is_set():
                await what(client)
                rounds[number] += 1

        busy = [asyncio.create_task(again(number, what)) for number, what in enumerate((_plan, _team, _matter))]
        try:
            for _ in range(LOOKS):
                await assert_verified(str(stack.home))
        finally:
            over.set()
            await asyncio.gather(*busy)
        assert all(rounds), rounds
        await assert_verified(str(stack.home))


async def _plan(client: httpx.AsyncClient) -> None:
    """Turns that plan, a branch, turns on both, and the origin is deleted."""
    sessions = Sessions(client)
    session = await sessions.open()
    for text in ("[[objective Ship it]] [[plan look | build]]", "[[done 1]]", "[[plan 2: draft]]"):
        await sessions.prompt(session, text)
        await sessions.settled(session)
    branch = (await sessions.ask("POST", f"/{session}/branches", turn=2))["session_id"]
    async with asyncio.timeout(30):
        while (await sessions.ask("GET", f"/{branch}/branch"))["state"] != "ready":
            await asyncio.sleep(0.05)
    for one in (branch, session):
        await sessions.prompt(one, "[[plan more]]")
    for one in (branch, session):
        await sessions.settled(one)
    await client.post("/api/sessions/batch_delete", json={"ids": [session]})


async def _team(client: httpx.AsyncClient) -> None:
    """Workers that end in several ways, a note, one that is cancelled."""
    team = await coordinating(client)
    await team.ask(
        "POST", "/prompt", text="[[spawn good: Read it | bad: so far [[fail]] | long: [[words 500]]]] Go on."
    )
    await team.settled()
    roster = await team.until(lambda roster: len(roster) == 3)
    if roster["long"]["status"] in ("spawning", "running"):
        await client.post(f"/api/sessions/{team.session}/workers/long/cancel", json={})
    await team.ended()


async def _matter(client: httpx.AsyncClient) -> None:
    """A thread from its creation to its end."""
    await Matters(client).finished("note", "append to notes.md: line")
