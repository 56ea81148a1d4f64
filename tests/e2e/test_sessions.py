"""Sessions through the whole house: runner, streaming, gateway, command line; and when parts of it are killed."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.engines import Engines
from services.kernel.clock import SystemClock
from services.kernel.principal import Authenticator, Principal
from tests.conftest import SERVICES, MakeDatabase
from tests.nats_server import NatsServer
from tests.stack import Process, Stack, running_fleet, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SECRET = "a-secret-of-this-test-and-of-nobody-else"
Card = dict[str, Any]


class Sessions:
    """Sessions of one gateway."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def ask(self, method: str, path: str, **body: Any) -> Card:
        answer = await self.client.request(method, f"/api/sessions{path}", json=body or None)
        assert answer.status_code == 200, answer.text
        card: Card = answer.json()
        return card

    async def open(self, **more: str) -> str:
        return str((await self.ask("POST", "", **{"adapter": "scripted", **more}))["id"])

    async def prompt(self, session: str, text: str) -> str:
        return str((await self.ask("POST", f"/{session}/prompt", text=text))["turn_id"])

    async def settled(self, session: str, seconds: float = 60.0) -> Card:
        async with asyncio.timeout(seconds):
            while (card := await self.ask("GET", f"/{session}"))["state"] not in ("idle", "failed"):
                await asyncio.sleep(0.05)
        return card

    async def texts(self, session: str) -> list[str]:
        messages = (await self.ask("GET", f"/{session}/messages"))["messages"]
        return [message["text"] for message in messages if message["role"] == "assistant"]


async def _heard(client: httpx.AsyncClient, session: str, turn: str) -> tuple[list[str], str]:
    """The stream up to the turn's end, over however many connections: ids in order, and the text of the turn."""
    ids: list[str] = []
    text, ours = "", False
    async with asyncio.timeout(90):
        while True:
            try:
                headers = {"last-event-id": ids[-1]} if ids else {}
                async with client.stream("GET", f"/api/sessions/{session}/stream", headers=headers) as answer:
                    event = ""
                    async for line in answer.aiter_lines():
                        if line.startswith("id:"):
                            ids.append(line[3:].strip())
                        elif line.startswith("event:"):
                            event = line[6:].strip()
                        elif line.startswith("data:"):
                            data = json.loads(line[5:])
                            assert event != "reset", data
                            ours = ours or data.get("turn_id") == turn
                            text += data["delta"] if event == "text_delta" and ours else ""
                            if event == "turn" and data.get("turn_id") == turn and data["state"] in ("idle", "failed"):
                                assert data["state"] == "idle", data
                                return ids, text
            except httpx.TransportError:
                await asyncio.sleep(0.1)


async def test_a_runner_of_its_own_role_serves_every_tenant_and_no_tenant_sees_another(tmp_path: Path) -> None:
    def client_of(stack: Stack, tenant: str) -> httpx.AsyncClient:
        principal = Principal(tenant, "ann", "user", frozenset({"reviewer"}))
        token = Authenticator(SECRET, SystemClock()).mint(principal, timedelta(minutes=10))
        return httpx.AsyncClient(base_url=stack.url, headers={"authorization": f"Bearer {token}"}, timeout=20)

    async with (
        running_stack(tmp_path, environment={"TREADLE_AUTH_SECRET": SECRET}) as stack,
        client_of(stack, "acme") as acme,
        client_of(stack, "umbra") as umbra,
    ):
        ours, theirs = Sessions(acme), Sessions(umbra)
        session = await ours.open()
        await ours.prompt(session, "only ours")
        assert (await ours.settled(session))["outcome"] == "ok"
        assert await ours.texts(session) == ["You said: only ours"]
        other = await theirs.open()
        await theirs.prompt(other, "theirs")
        assert (await theirs.settled(other))["outcome"] == "ok"
        for path in ("", "/messages", "/stream", "/gates", "/ledger"):
            assert (await umbra.get(f"/api/sessions/{session}{path}")).status_code == 404


async def test_a_turn_whose_runner_is_killed_fails_and_the_next_agent_remembers(tmp_path: Path) -> None:
    lease = {"TREADLE_SESSION_LEASE_SECONDS": "2", "TREADLE_HEARTBEAT_SECONDS": "0.5"}
    async with running_stack(tmp_path, environment=lease) as stack:
        async with stack.client() as client:
            sessions = Sessions(client)
            session = await sessions.open(thinking="high")
            await sessions.prompt(session, "remember me")
            await sessions.settled(session)
            before = await sessions.ask("GET", f"/{session}")
            await sessions.prompt(session, "[[pace 50ms]] [[words 10000]]")
            async with asyncio.timeout(60):  # a turn that no agent has heard of would be begun by the next one
                while not (await sessions.ask("GET", f"/{session}/turn")).get("said"):
                    await asyncio.sleep(0.02)
        await stack.kill()
        await stack.start()
        async with stack.client() as client:
            sessions = Sessions(client)
            card = await sessions.settled(session)
            assert (card["state"], card["code"]) == ("failed", "runner_lost")
            await sessions.prompt(session, "[[recall]]")
            card = await sessions.settled(session)
            assert (card["outcome"], card["thinking"]) == ("ok", "high")
            assert card["generation"] > before["generation"]
            assert (await sessions.texts(session))[-1] == "I remember 1 turns, the last: remember me"


async def test_the_command_line_opens_prompts_and_tails_with_a_cut(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack:

        async def treadle(*words: str) -> tuple[int, str]:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "services.cli.main", "sessions", *words, "--url", stack.url),
                stdout=asyncio.subprocess.PIPE,
            )
            out, _ = await process.communicate()
            assert process.returncode is not None
            return process.returncode, out.decode()

        _, session = await treadle("new", "A talk")
        session = session.strip()
        code, out = await treadle("prompt", session, "[[think aloud]] [[tool bash]] Good day", "--follow")
        assert code == 0
        assert out.splitlines()[-5:] == ["aloud", "* bash running", "* bash completed", "Good day", "— idle (ok)"]
        await treadle("prompt", session, "[[pace 20ms]] [[words 100]]")
        code, first = await treadle("tail", session, "--json", "--timeout", "0.7")
        assert code == 4
        cut = json.loads(first.splitlines()[-1])["id"]
        code, rest = await treadle("tail", session, "--json", "--since", cut, "--until-settled")
        assert code == 0
        ids = [json.loads(line)["id"] for line in (first + rest).splitlines()]
        assert ids == [f"1-{number}" for number in range(1, len(ids) + 1)]


async def test_s5_a_streaming_replica_is_killed_while_fifty_sessions_stream(
    tmp_path: Path, servers: Engines, make_database: MakeDatabase, nats_server: NatsServer
) -> None:
    """The runner attaches again at the other replica; readers there hear everything once, in order."""
    urls = {name: await make_database(name) for name in SERVICES}
    async with running_fleet(tmp_path, servers, urls, nats_server.url) as fleet, fleet.client(1) as client:
        for process in fleet.processes["runner"]:
            await process.end()
        told = {
            "TREADLE_STREAMING_TARGET": "ipv4:" + ",".join(fleet.targets["streaming"]),
            "TREADLE_THREADS_TARGET": fleet.targets["threads"][1],
            "TREADLE_HOME": str(tmp_path / "home"),
        }
        runner = Process("runner", ["-m", "services.cli.main", "serve", "runner"], told, tmp_path / "runner.log")
        await runner.start()
        try:
            sessions = Sessions(client)
            opened = [await sessions.open() for _ in range(50)]
            turns = [await sessions.prompt(session, "[[pace 10ms]] [[words 500]]") for session in opened]
            reading = [
                asyncio.create_task(_heard(client, session, turn)) for session, turn in zip(opened, turns, strict=True)
            ]
            await asyncio.sleep(0.19)
            await fleet.processes["streaming"][0].kill()
            for ids, text in await asyncio.gather(*reading):
                assert ids == [f"1-{number}" for number in range(1, len(ids) + 1)]
                assert text == " ".join(f"word{number}" for number in range(1, 501))
        finally:
            await runner.end()
