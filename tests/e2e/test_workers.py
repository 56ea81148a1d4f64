"""Coordinators and workers through the whole house, and what becomes of them when parts of it are killed (C.2–C.4)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from services.engines import Engines
from tests.conftest import SERVICES, MakeDatabase
from tests.e2e.matter import Matters
from tests.e2e.verified import assert_verified
from tests.e2e.workers import Card, Team, coordinating
from tests.nats_server import NatsServer
from tests.stack import Stack, running_fleet, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
QUICK = {
    "TREADLE_SESSION_LEASE_SECONDS": "2",
    "TREADLE_WORKER_LEASE_SECONDS": "2",
    "TREADLE_HEARTBEAT_SECONDS": "0.5",
    "TREADLE_LEASE_SECONDS": "2",
    "TREADLE_SCRIPTED_PACE_MS": "0",
}


async def test_one_prompt_fans_out_collects_and_answers_in_the_same_turn(tmp_path: Path) -> None:
    async with running_stack(tmp_path, environment=QUICK) as stack, stack.client(60) as client:
        team = await coordinating(client)
        await team.ask("POST", "/prompt", text="Compare these in parallel:\n- Wheat\n- Rye\n- Oat [[cut]] never")
        assert (await team.settled())["outcome"] == "ok"
        (answer,) = await team.answers()
        assert "### wheat (succeeded)\n\nDone: Wheat\n" in answer
        assert "### oat-never (failed: budget_exhausted, partial)\n\nOat" in answer
        roster = await team.roster()
        assert [one["status"] for one in roster.values()] == ["succeeded", "succeeded", "failed"]
        worker = roster["wheat"]["ids"]["subagent_session_id"]
        assert (await client.get(f"/api/sessions/{worker}")).json()["title"] == "Thread: wheat"
        told = (await client.get(f"/api/sessions/{worker}/context")).json()
        assert told["role"] == "worker"
        assert "## Your thread assignment" in told["text"]


async def test_a_late_result_wakes_its_coordinator(tmp_path: Path) -> None:
    async with running_stack(tmp_path, environment=QUICK) as stack, stack.client(60) as client:
        team = await coordinating(client)
        body = {"session_id": team.session, "enabled": True, "policy": {"auto_wake": True}}
        assert (await client.post("/api/coordination/flag", json=body)).status_code == 200
        await team.ask("POST", "/prompt", text="[[spawn late: [[slow 2s]] Look it up]] I go on.")
        assert (await team.settled())["outcome"] == "ok"
        assert await team.answers() == ["I go on."]
        await team.ended()
        async with asyncio.timeout(30):
            while len(await team.answers()) < 2:
                await asyncio.sleep(0.05)
        assert "### late (succeeded)\n\nDone: Look it up" in (await team.answers())[1]
        assert (await team.roster())["late"]["late"] is True


async def test_every_end_has_its_reason(tmp_path: Path) -> None:
    environment = {**QUICK, "TREADLE_UNCLAIMED_SECONDS": "2"}
    async with running_stack(tmp_path, environment=environment) as stack, stack.client(60) as client:
        team = await coordinating(client, "external")
        talks = "[[pace 50ms]] [[words 2000]]"
        briefs = {
            "done": "Read",
            "empty": "[[slow 10ms]]",
            "fails": "so far [[fail]]",
            "exits": "so far [[exit]]",
            "cut": "so far [[cut]]",
            **dict.fromkeys(("cancelled", "aborted", "deleted", "timeout"), talks),
        }
        threads = [{"name": name, "brief": brief} for name, brief in briefs.items()]
        threads[-1]["timeout_seconds"] = 20  # long enough to have said something, however slow the machine is
        threads.append({"name": "nowhere", "brief": "x", "adapter": "nothing-of-the-kind"})
        await team.ask("POST", "/workers", threads=threads)
        sessions = {}
        for name in ("cancelled", "aborted", "deleted"):
            roster = await team.until(lambda roster, name=name: roster[name]["ids"].get("subagent_session_id"))
            sessions[name] = Team(client, roster[name]["ids"]["subagent_session_id"])
            await _until_async(lambda name=name: _talks(sessions[name]))
        await team.ask("POST", "/workers/cancelled/cancel")
        await sessions["aborted"].ask("POST", "/abort")
        deletion = await client.post("/api/sessions/batch_delete", json={"ids": [sessions["deleted"].session]})
        assert deletion.json()["results"][0]["ok"]
        roster = await team.ended()
        assert {name: (one["status"], one["reason"], one["has_result"]) for name, one in roster.items()} == {
            "done": ("succeeded", "completed", True),
            "empty": ("succeeded", "completed", False),
            "fails": ("failed", "failed", True),
            "exits": ("failed", "failed", True),
            "cut": ("failed", "budget_exhausted", True),
            "cancelled": ("cancelled", "cancelled", True),
            "aborted": ("interrupted", "interrupted", True),
            "deleted": ("interrupted", "interrupted", False),
            "timeout": ("failed", "timeout", True),
            "nowhere": ("failed", "launch_failed", False),
        }
        assert {name for name, one in roster.items() if one["partial"]} == {
            *("fails", "exits", "cut", "cancelled", "aborted", "timeout")
        }
        record = await client.get("/api/coordination/roster", params={"coordinator_session_id": team.session})
        assert int(record.json()["spent_tokens"]) > len(briefs)


async def test_a_token_budget_ends_turns_under_way_and_what_they_said_is_kept(tmp_path: Path) -> None:
    async with running_stack(tmp_path, environment=QUICK) as stack, stack.client(60) as client:
        team = await coordinating(client, "external")
        body = {"session_id": team.session, "enabled": True, "policy": {"budget_tokens": 2_000}}
        assert (await client.post("/api/coordination/flag", json=body)).status_code == 200
        talks = "[[pace 20ms]] [[words 100000]]"  # half an hour
        await team.spawn(one=talks, two=talks)
        roster = await team.ended()
        for name, one in roster.items():
            assert (one["status"], one["reason"], one["has_result"]) == ("failed", "budget_exhausted", True)
            assert one["partial"] is True
            assert "word1 word2 word3" in (await team.collect(name))["result"]
            turn = (await client.get(f"/api/sessions/{one['ids']['subagent_session_id']}/turn")).json()
            assert turn["outcome"] == "aborted", "nothing goes on behind it"
        record = await client.get("/api/coordination/roster", params={"coordinator_session_id": team.session})
        assert int(record.json()["spent_tokens"]) >= 2_000
        (refused,) = await team.spawn(three="x")
        assert refused["code"] == "budget_exhausted"


async def test_thirty_two_workers_over_a_killed_runner_end_with_the_right_reasons(
    tmp_path: Path, servers: Engines, make_database: MakeDatabase, nats_server: NatsServer
) -> None:
    """Two processes of everything. What was heard is not done twice; what was not heard is done by the other runner."""
    urls = {name: await make_database(name) for name in SERVICES}
    quick = {**QUICK, "TREADLE_WORKER_CONCURRENCY": "20", "TREADLE_SESSION_CONCURRENCY": "40"}
    async with (
        running_fleet(tmp_path, servers, urls, nats_server.url, environment=quick) as fleet,
        fleet.client(0, 60) as first,
        fleet.client(1, 60) as second,
    ):
        team = await coordinating(first, "external")
        others = [Team(client, team.session) for client in (first, second) * 4]

        async def spawn(number: int, its: Team) -> Counter[str]:
            """Each has eight names, four of them also another's."""
            names = [(number * 4 + place) % 32 for place in range(8)]
            briefs = {f"w{name}": _brief(name) for name in names}
            return Counter(one.get("code") or "ok" for one in await its.spawn(**briefs))

        told = sum(await asyncio.gather(*(spawn(number, its) for number, its in enumerate(others))), Counter[str]())
        assert told["ok"] == 32
        assert set(told) <= {"ok", "name_taken", "too_many_threads"}
        await team.until(lambda roster: sum(one["status"] == "running" for one in roster.values()) >= 16)
        await fleet.processes["runner"][0].kill()
        roster = await team.ended(120)
        assert len(roster) == 32
        for name, one in roster.items():
            assert one["reason"] in ("completed", "runner_lost"), (name, one)
            if one["reason"] == "completed":
                assert "word120" in (text := (await team.collect(name))["result"]) or "Done: quiet" in text
            else:
                assert (one["status"], one["partial"]) == ("interrupted", one["has_result"])
            turn = (await first.get(f"/api/sessions/{one['ids']['subagent_session_id']}/turn")).json()
            assert turn["code"] == ("" if one["reason"] == "completed" else "runner_lost"), (name, turn)
        quiet = [one for name, one in roster.items() if int(name[1:]) % 2 == 0]
        assert all(one["reason"] == "completed" for one in quiet), quiet
        sessions = (await first.get("/api/sessions", params={"page_size": 200})).json()["sessions"]
        assert len([one for one in sessions if one["title"].startswith("Thread: ")]) == 32
        await assert_verified(urls)


def _brief(number: int) -> str:
    """Even ones say nothing for a while, odd ones talk all the time."""
    return f"[[slow 4s]] quiet {number}" if number % 2 == 0 else "[[pace 40ms]] [[words 120]]"


async def test_pub07_a_restart_leaves_nothing_running_for_ever(tmp_path: Path) -> None:
    """kill -9 of the whole; Postgres stands still for two seconds while it recovers; then a second restart."""
    effects = list[str]()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        effects.append((await reader.readuntil(b"\r\n")).decode())
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/once"
    told = {**QUICK, "TREADLE_WORKER_CONCURRENCY": "2"}
    async with server, running_stack(tmp_path, environment=told) as stack:
        try:
            async with stack.client(60) as client:
                matters = Matters(client)
                thread = await matters.create("Tell them", f"fetch {url}")
                await matters.approve(await matters.wait(thread["id"], "awaiting_confirmation"))
                await _until(lambda: effects)
                team = await coordinating(client)
                spawn = "[[spawn gated: [[gate choice x|y]] | busy: [[pace 50ms]] [[words 2000]] | later: Read it]]"
                await team.ask("POST", "/prompt", text=f"{spawn} [[wait all 300s]]")
                await team.until(lambda roster: roster.get("gated", {}).get("waiting") and len(roster) == 3)
                before = await team.until(lambda roster: roster["busy"]["status"] == "running")
                assert before["later"]["status"] == "spawning"
                session = before["busy"]["ids"]["subagent_session_id"]
                busy = Team(client, session)
                await _until_async(lambda: _talks(busy))
            await stack.kill()
            await stack.start()
            await _stand_still(stack, 2.0)
            async with stack.client(60) as client:
                team, matters = Team(client, team.session), Matters(client)
                roster = await team.until(
                    lambda roster: (
                        roster["busy"]["status"] == "interrupted" and roster["later"]["status"] == "succeeded"
                    ),
                    90,
                )
                assert (roster["busy"]["reason"], roster["busy"]["partial"]) == ("runner_lost", True)
                assert "word1" in (await team.collect("busy"))["result"]
                assert (roster["gated"]["status"], roster["gated"]["waiting"]) == ("running", True)
                assert (await team.settled())["code"] == "runner_lost"
                await matters.wait(thread["id"], "awaiting_redirect")
                gated = roster["gated"]["ids"]["subagent_session_id"]
                (gate,) = (await client.get(f"/api/sessions/{gated}/gates")).json()["gates"]
                answer = await client.post(f"/api/{gate['name']}/answer", json={"value": "x"})
                assert answer.status_code == 200, answer.text
                roster = await team.ended()
                assert roster["gated"]["reason"] == "completed", roster["gated"]
                assert "x" in (await team.collect("gated"))["result"]
                turns = (await client.get(f"/api/sessions/{roster['later']['ids']['subagent_session_id']}/turn")).json()
                assert turns["number"] == 1
            await stack.stop()
            await stack.start()
            async with stack.client(60) as client:
                again = await Team(client, team.session).roster()
                assert _ends(again) == _ends(roster)
                assert (await Matters(client).card(thread["id"]))["state"] == "awaiting_redirect"
            assert len(effects) == 1
            await assert_verified(str(stack.home))
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{stack.log_tail(6_000)}") from failure


async def _talks(team: Team) -> bool:
    answer = await team.client.get(f"/api/sessions/{team.session}/turn")
    return answer.status_code == 200 and bool(answer.json()["said"])


async def _until_async(condition: Callable[[], Awaitable[object]], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.05)


async def _until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.05)


async def _stand_still(stack: Stack, seconds: float) -> None:
    """The database answers nobody for a while."""
    processes = [
        one for one in psutil.Process(stack.process.pid).children(recursive=True) if one.name().startswith("postgres")
    ]
    assert processes
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            os.kill(one.pid, signal.SIGSTOP)
    try:
        over = asyncio.get_running_loop().time() + seconds
        await _until(lambda: asyncio.get_running_loop().time() > over)
    finally:
        for one in processes:
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                os.kill(one.pid, signal.SIGCONT)


def _ends(roster: dict[str, Card]) -> dict[str, tuple[str, str, bool, int]]:
    return {name: (one["status"], one["reason"], one["partial"], one["result_version"]) for name, one in roster.items()}
