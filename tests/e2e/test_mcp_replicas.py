"""`/mcp` keeps nothing: an agent may talk to one gateway now and to another one then, and one of them may die."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from services.engines import Engines
from services.kernel.principal import Principal
from tests.conftest import SERVICES, MakeDatabase
from tests.e2e.test_mcp_coordinator import SECRET, bearer_of, brief, done
from tests.nats_server import NatsServer
from tests.stack import running_fleet
from tests.unit.gateway.mcp_client import agent_bearer, mcp_client

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


async def test_an_agent_goes_on_at_another_gateway_when_its_own_is_killed_while_it_waits(
    tmp_path: Path, servers: Engines, make_database: MakeDatabase, nats_server: NatsServer
) -> None:
    urls = {name: await make_database(name) for name in SERVICES}
    environment = {"TREADLE_AUTH_SECRET": SECRET}
    person = bearer_of(Principal("acme", "ann", "user", frozenset({"reviewer"})))
    async with running_fleet(tmp_path, servers, urls, nats_server.url, environment=environment) as fleet:
        first, second = fleet.gateways
        async with httpx.AsyncClient(base_url=second, headers=person, timeout=30) as http:
            session = (await http.post("/api/sessions", json={"adapter": "external"})).json()["id"]
            flag = await http.post("/api/coordination/flag", json={"session_id": session, "enabled": True})
            assert flag.json()["enabled"] is True
        agent = agent_bearer(session, SECRET, "acme")
        async with mcp_client(first, agent) as client:
            await done(client, "turn_begin", text="go")
        threads = [{"name": name, "brief": f"[[slow 2s]]{brief(name)}"} for name in ("alpha", "beta", "gamma")]
        async with mcp_client(second, agent) as client:
            spawned = await done(client, "thread_spawn", threads=threads, request_id="k1")
            assert all(one["ok"] for one in spawned["threads"])
        async with mcp_client(first, agent) as client:
            repeated = await done(client, "thread_spawn", threads=threads, request_id="k1")
            assert repeated == spawned
        waiting = asyncio.create_task(_wait(first, agent))
        async with mcp_client(first, agent) as client:
            await done(client, "thread_status")
        await fleet.processes["gateway"][0].kill()
        with pytest.raises(BaseException):  # noqa: B017, PT011 - as the client has it: a group, a break, or a cancel
            await waiting
        async with mcp_client(second, agent) as client:
            assert (await done(client, "thread_wait", timeout_seconds=60))["done"]["satisfied"] is True
            for one in threads:
                collected = await done(client, "thread_collect", thread_name=one["name"])
                assert collected["result"].startswith(f"all about {one['name']}")
            assert len((await done(client, "thread_status"))["threads"]) == 3
            await done(client, "turn_end", text="done")


async def _wait(url: str, headers: dict[str, str]) -> None:
    async with mcp_client(url, headers) as client:
        await client.call_tool("thread_wait", {"timeout_seconds": 60})
