"""kill -9 of the whole process, of Postgres, of NATS, at random moments of one matter's path; then it is finished."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from pathlib import Path

import httpx
import psutil
import pytest

from tests.e2e.matter import Card, Matters, assert_log_is_whole, transitions
from tests.stack import Stack, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
KILLS = 20
_LONGEST_PATH_SECONDS = 0.6


@pytest.mark.parametrize("victim", ["treadle", "postgres", "nats"])
async def test_a_matter_survives_kill_9_at_any_moment_of_its_path(victim: str, tmp_path: Path, rounds: int) -> None:
    seed = int(os.environ.get("TREADLE_SEED", "20261130"))
    chance = random.Random(f"{victim}-{seed}")
    async with running_stack(tmp_path) as stack:
        try:
            for number in range(min(KILLS, max(3, rounds // 5))):
                title = f"note {number}"
                walking = asyncio.create_task(_walk(stack, title, number))
                await asyncio.sleep(chance.uniform(0, _LONGEST_PATH_SECONDS))
                await _kill(stack, victim)
                thread_id = await walking
                await _finish(stack, thread_id, number, title, victim)
        except AssertionError as failure:
            raise AssertionError(f"seed {seed}, victim {victim}: {failure}\n{stack.log_tail(4_000)}") from failure


async def _walk(stack: Stack, title: str, number: int) -> str | None:
    """The path: create, wait for the proposal, approve, wait. Stops where the kill catches it."""
    thread_id: str | None = None
    with contextlib.suppress(httpx.TransportError, httpx.HTTPStatusError, AssertionError):
        async with stack.client(timeout=5) as client:
            matters = Matters(client)
            thread_id = (await matters.create(title, f"append to kill-{number}.md: line"))["id"]
            card = await matters.wait(thread_id, "awaiting_confirmation", seconds=5)
            await matters.approve(card)
            await matters.wait(thread_id, "done", seconds=2)
    return thread_id


async def _kill(stack: Stack, victim: str) -> None:
    """kill -9 of the victim; the whole process is started again by us, an engine by its supervisor."""
    if victim == "treadle":
        await stack.kill()
        await stack.start()
        return
    name = {"postgres": "postgres", "nats": "nats-server"}[victim]
    for child in psutil.Process(stack.process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.name() == name:
                os.kill(child.pid, signal.SIGKILL)


async def _finish(stack: Stack, thread_id: str | None, number: int, title: str, victim: str) -> None:
    """After the kill: the matter can be finished, ran at most once, and its log is whole."""
    async with stack.client(timeout=10) as client:
        matters = Matters(client)
        await _healthy(client)
        if thread_id is None:
            # The answer was lost: the thread exists or does not, and a new one works either way.
            await matters.finished(title, f"append to again-{number}.md: line")
            return
        card = await matters.wait(thread_id, "done", "awaiting_confirmation", "awaiting_redirect")
        if card["state"] != "done":
            card = await _push_to_the_end(matters, card)
        events = await matters.events(thread_id)
        assert_log_is_whole(events, card)
        executions = [t for t in transitions(events) if t[1] == "execute"]
        lines = _lines(stack, number)
        assert len(executions) <= lines + [t[1] for t in transitions(events)].count("execution_failed")
        assert lines <= len(executions), f"{victim}: the action ran {lines} times for {len(executions)} approvals"


async def _push_to_the_end(matters: Matters, card: Card) -> Card:
    """A person goes on where the kill left it. A lost execution is redirected, never repeated by itself."""
    if card["state"] == "awaiting_redirect":
        assert (await matters.decide(card["id"], "redirect_action", {"feedback": ""})).status_code == 200
        card = await matters.wait(card["id"], "awaiting_confirmation")
    answer = await matters.approve(card)
    assert answer.status_code in (200, 409), answer.text
    return await matters.wait(card["id"], "done")


async def _healthy(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get("/readyz")).status_code == 200 and (
                    await client.get("/api/threads")
                ).status_code == 200:
                    return
            await asyncio.sleep(0.05)


def _lines(stack: Stack, number: int) -> int:
    file = stack.home / "files" / f"kill-{number}.md"
    return len(file.read_text().splitlines()) if file.exists() else 0
