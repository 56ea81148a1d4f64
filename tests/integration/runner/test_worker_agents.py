"""Managed workers whose agents are processes that misbehave, under the whole of Treadle: what they say and what they
leave running (PUB18, PUB22, PUB23, design/coordination.md C.3, C.4)."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from tests.e2e.workers import Team, coordinating
from tests.stack import Stack, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300), pytest.mark.xdist_group("worker_agents")]
FAKE_PI = Path(__file__).parents[2] / "fakes" / "pi_child.py"
SLEEP = f"6{uuid.uuid4().int % 10**9}"
SECRET = b"ZX-SECRET-7"


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """One Treadle for the tests of this file; its Pi is the fake one."""
    told = {"TREADLE_PI_COMMAND": f"{sys.executable} {FAKE_PI}", "TREADLE_PI_ENVIRONMENT": "FAKE_SLEEP"}
    folder = tmp_path_factory.mktemp("worker_agents")
    async with running_stack(folder, environment=told | {"FAKE_SLEEP": SLEEP}) as running:
        yield running


@pytest.fixture
async def team(stack: Stack) -> AsyncIterator[Team]:
    """A coordinator that does nothing but to have a turn; its workers are what they are asked to be."""
    async with stack.client(60) as http:
        team = await coordinating(http, "pi")
        await team.ask("POST", "/prompt", text="silent")
        yield team


def running() -> list[psutil.Process]:
    """The commands that agents of this file's Treadle have started and that have not ended."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if SLEEP in (process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def zombies(stack: Stack) -> list[psutil.Process]:
    """Below Treadle's process: ended, and nobody has waited for them."""
    found = []
    for child in psutil.Process(stack.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.status() == psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


async def test_pub22_what_cannot_be_encoded_or_stored_is_replaced_and_the_worker_ends(team: Team) -> None:
    await team.spawn(odd="odd")
    (worker,) = (await team.ended(150)).values()
    assert (worker["status"], worker["reason"]) == ("succeeded", "completed")
    expected = "a\ufffdb\ufffdc 😀"
    first, second = await team.collect("odd"), await team.collect("odd")
    assert first["result"].strip() == expected
    assert first["result"] == second["result"]
    messages = (await team.client.get(f"/api/sessions/{worker['ids']['subagent_session_id']}/messages")).json()[
        "messages"
    ]
    assert messages[-1]["text"].endswith(expected)


async def test_pub18_nothing_of_a_workers_inside_leaves_the_server(stack: Stack, team: Team) -> None:
    await team.spawn(leaky="secrets")
    (worker,) = (await team.ended(150)).values()
    assert (worker["status"], worker["reason"]) == ("failed", "failed")
    session = worker["ids"]["subagent_session_id"]
    seen = [(await team.client.post(f"/api/sessions/{team.session}/workers/leaky/collect", json={})).content]
    for path in ("", "/messages", "/turns", "/gates"):
        seen.append((await team.client.get(f"/api/sessions/{session}{path}")).content)
    for path in ("/workers", "/context"):
        seen.append((await team.client.get(f"/api/sessions/{team.session}{path}")).content)
    for path in (
        f"/api/sessions/{session}/stream",
        f"/api/sessions/{team.session}/stream",
        "/api/stream?last_event_id=0",
    ):
        seen.append(await _streamed(team, path))
    assert b"said so far" in seen[2]
    assert b"child_exit" in seen[7]
    assert not [body for body in seen if SECRET in body]
    assert SECRET.decode() in stack.log_tail(4_000_000)


async def _streamed(team: Team, path: str) -> bytes:
    """What a stream says before it is quiet for a second."""
    body = b""
    async with team.client.stream("GET", path) as answer:
        pieces = answer.aiter_bytes()
        with contextlib.suppress(TimeoutError, StopAsyncIteration):
            while True:
                async with asyncio.timeout(1 if body else 30):
                    body += await anext(pieces)
        await pieces.aclose()
    return body


@pytest.mark.parametrize(
    ("length", "status", "reason", "kept"),
    [
        (2_000_000, "succeeded", "completed", 2_000_000),
        (20 * 1024 * 1024, "failed", "result_too_large", 3 * 1024 * 1024),
    ],
)
async def test_pub23_a_large_result_is_read_in_pages_or_ends_as_too_large(
    team: Team, length: int, status: str, reason: str, kept: int
) -> None:
    await team.spawn(large=f"big {length}")
    (worker,) = (await team.ended(150)).values()
    assert (worker["status"], worker["reason"]) == (status, reason)
    text, token, version = "", "", 0
    while True:
        asked = {"full_text": True, **({"page_token": token, "version": version} if token else {})}
        page = await team.ask("POST", "/workers/large/collect", **asked)
        text += page["result"]
        version, token = page["version"], page.get("next_page_token", "")
        if not token:
            break
    assert (len(text), set(text)) == (kept, {"x"})
    assert page.get("partial", False) == (reason != "completed")


async def test_a_cancelled_worker_leaves_nothing_running_though_its_agent_ignores_it(stack: Stack, team: Team) -> None:
    await team.spawn(one="stubborn", two="stubborn")
    async with asyncio.timeout(120):
        while len({process.ppid() for process in running()}) < 2:
            await asyncio.sleep(0.05)
    for name in ("one", "two"):
        await team.ask("POST", f"/workers/{name}/cancel")
    roster = await team.ended(150)
    assert {(one["status"], one["reason"]) for one in roster.values()} == {("cancelled", "cancelled")}
    async with asyncio.timeout(120):
        while running():
            await asyncio.sleep(0.05)
        # Whoever has ended is waited for: zombies would pile up over a runner's life.
        while zombies(stack):
            await asyncio.sleep(0.05)
