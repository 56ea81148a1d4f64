"""Everything under workers is killed in turn, on two processes of each: every end is told once, costs add up, gates
wait on, late results wake whom they should, and the logs have neither tracebacks nor secrets (C.3, C.4, PUB07)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import Counter
from pathlib import Path

import asyncpg
import pytest

from services.engines import EngineRestarted, Engines
from tests.conftest import SERVICES, MakeDatabase
from tests.e2e.workers import ENDS, Card, Team, coordinating
from tests.nats_server import NatsServer
from tests.stack import Fleet, Process, running_fleet

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
LEASE = 4
QUICK = {
    "TREADLE_SESSION_LEASE_SECONDS": str(LEASE),
    "TREADLE_WORKER_LEASE_SECONDS": str(LEASE),
    "TREADLE_LEASE_SECONDS": str(LEASE),
    "TREADLE_HEARTBEAT_SECONDS": "1",
    "TREADLE_SCRIPTED_PACE_MS": "0",
    "TREADLE_WORKER_CONCURRENCY": "20",
    "TREADLE_SESSION_CONCURRENCY": "40",
}
SECRET_BRIEF = "ZX-SECRET-7"
REASONS = {"completed", "runner_lost", "timeout"}


async def test_pub07_nothing_is_lost_doubled_or_left_behind_whatever_is_killed(
    tmp_path: Path, servers: Engines, make_database: MakeDatabase, nats_server: NatsServer
) -> None:
    urls = {name: await make_database(name) for name in SERVICES}
    async with (
        running_fleet(tmp_path, servers, urls, nats_server.url, environment=QUICK) as fleet,
        fleet.client(0, 60) as first,
        fleet.client(1, 60) as second,
    ):
        outside, woken = await coordinating(first, "external"), await coordinating(second)
        flag = {"session_id": woken.session, "enabled": True, "policy": {"auto_wake": True}}
        assert (await second.post("/api/coordination/flag", json=flag)).status_code == 200
        briefs = {f"quiet{n}": f"[[slow {8 * n + 4}s]] {SECRET_BRIEF}" for n in range(4)}
        briefs |= {f"talk{n}": f"[[pace 40ms]] [[words {300 * n + 200}]]" for n in range(4)}
        briefs |= {f"gate{n}": "[[gate choice x|y]]" for n in range(2)}
        assert all(one["ok"] for one in await outside.spawn(**briefs))
        await woken.ask("POST", "/prompt", text="[[spawn slow: [[slow 25s]] x | asks: [[gate choice x|y]]]] I go on.")
        await outside.until(lambda roster: all(roster[f"gate{n}"]["waiting"] for n in range(2)), 120)
        await woken.until(lambda roster: roster.get("asks", {}).get("waiting"), 120)

        await _kill_all(fleet, servers, nats_server)

        teams = (outside, woken)
        for team in teams:
            roster = await team.until(
                lambda its: its and all(_ended(one) or one["waiting"] for one in its.values()), 180
            )
            waiting = {name for name, one in roster.items() if one["waiting"]}
            assert waiting == ({"gate0", "gate1"} if team is outside else {"asks"}), roster
            for name in waiting:
                session = roster[name]["ids"]["subagent_session_id"]
                (gate,) = (await first.get(f"/api/sessions/{session}/gates")).json()["gates"]
                assert (await first.post(f"/api/{gate['name']}/answer", json={"value": "x"})).status_code == 200
            roster = await team.ended(120)
            assert {one["reason"] for one in roster.values()} <= REASONS
            assert {roster[name]["reason"] for name in waiting} == {"completed"}
        await _until_woken(woken)
        await _check_rows(urls, teams)
        _check_logs(fleet)


async def _kill_all(fleet: Fleet, servers: Engines, nats_server: NatsServer) -> None:
    """One after the other, while the ones before come back."""
    for name in ("coordination", "runner", "streaming"):
        await _again(fleet.processes[name][0])
    watch = servers.watch()
    os.kill(servers.pid("postgres"), signal.SIGKILL)
    while not isinstance(await watch.next(), EngineRestarted):
        pass
    await nats_server.kill()
    await nats_server.start()
    runner = fleet.processes["runner"][1]
    os.kill(runner.pid, signal.SIGSTOP)
    await _both_again(fleet.processes["coordination"], LEASE + 1)
    os.kill(runner.pid, signal.SIGCONT)


async def _again(process: Process) -> None:
    await process.kill()
    await process.start()


async def _both_again(processes: list[Process], seconds: float) -> None:
    """None of them is there for so long."""
    over = asyncio.get_running_loop().time() + seconds
    for process in processes:
        await process.kill()
    while asyncio.get_running_loop().time() < over:
        await asyncio.sleep(0.1)
    for process in processes:
        await process.start()


async def _until_woken(team: Team) -> None:
    """Each of its workers' results has begun a turn, or was collected by an earlier one."""
    async with asyncio.timeout(60):
        while not all(
            f"### {name} " in said for said in ["\n".join(await team.answers())] for name in ("slow", "asks")
        ):
            await asyncio.sleep(0.1)


async def _check_rows(urls: dict[str, str], teams: tuple[Team, ...]) -> None:
    coordination, streaming = [await asyncpg.connect(urls[name]) for name in ("coordination", "streaming")]
    try:
        assert await coordination.fetchval("SELECT count(*) FROM jobs WHERE state IN ('queued', 'leased')") == 0
        for team in teams:
            spent = await coordination.fetchrow(
                "SELECT c.spent_ms, c.spent_tokens, sum(w.spent_ms)::bigint, sum(w.tokens)::bigint FROM coordinators c"
                " JOIN workers w ON w.coordinator_id = c.session_id WHERE c.session_id = $1 GROUP BY 1, 2",
                team.session,
            )
            assert spent is not None
            assert tuple(spent)[:2] == tuple(spent)[2:]
            told = await streaming.fetch(
                "SELECT data FROM session_outbox WHERE session_id = $1 AND name = 'worker_result'", team.session
            )
            assert Counter(json.loads(row["data"])["name"] for row in told) == Counter(list(await team.roster()))
    finally:
        await coordination.close()
        await streaming.close()


def _check_logs(fleet: Fleet) -> None:
    for process in (process for group in fleet.processes.values() for process in group):
        for line in process.log.read_text(errors="replace").splitlines():
            assert "Traceback" not in line, (process.name, line)
            assert "exception" not in (json.loads(line) if line.startswith("{") else {}), (process.name, line)
            assert not any(word in line for word in (SECRET_BRIEF, "Bearer ", "agent_token")), (process.name, line)


def _ended(worker: Card) -> bool:
    return worker["status"] in ENDS
