"""kill -9 of planning, streaming, the whole, Postgres and NATS while a turn begins and a branch is made: afterwards
every turn has what it kept, the branch is made once, and both conversations go on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from services.engines import Engines
from services.kernel.clock import SystemClock
from services.kernel.ids import new_id
from services.kernel.principal import Authenticator, Principal
from tests.conftest import SERVICES, MakeDatabase
from tests.e2e.verified import assert_verified
from tests.nats_server import NatsServer
from tests.stack import running_fleet, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
SECRET = "a-secret-of-this-test-and-of-nobody-else"
_LATEST_SECONDS = 0.4
"""After so long a turn has begun and a branch is made, where nobody is killed."""

Card = dict[str, Any]
Kept = tuple[str, list[tuple[str, int, bool]], list[tuple[str, str, bool]]]


def _kept(workspace: Card) -> Kept:
    return (
        workspace["objective"],
        [(step["text"], step["depth"], step["done"]) for step in workspace["plan"]["steps"]],
        [(one["key"], one["content"], one["locked"]) for one in workspace["documents"]],
    )


@dataclass
class Conversation:
    """One that is talked with over kills; what it was after each turn."""

    client: httpx.AsyncClient
    id: str = ""
    expected: dict[int, Kept] = field(default_factory=dict)
    branches: dict[str, int] = field(default_factory=dict)

    async def ask(self, method: str, path: str, passing: frozenset[str] = frozenset(), **body: Any) -> Card:
        """Asked with one key until it is answered: the way may break, and a service may be away or not yet there."""
        key, said = {"idempotency-key": new_id("req")}, ""
        try:
            async with asyncio.timeout(90):
                while True:
                    with contextlib.suppress(httpx.TransportError):
                        answer = await self.client.request(
                            method, f"/api/sessions{path}", json=body or None, headers=key
                        )
                        said = f"{answer.status_code} {answer.text}"
                        if answer.status_code == 200:
                            card: Card = answer.json()
                            return card
                        reason = answer.json().get("reason")
                        assert answer.status_code in (500, 502, 503, 504) or reason in passing, said
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{method} {path} stays refused: {said}") from None

    async def open(self) -> None:
        self.id = (await self.ask("POST", "", adapter="scripted"))["id"]
        await self.ask("PUT", f"/{self.id}/documents/notes", content="from the beginning")
        await self.ask("PUT", f"/{self.id}/documents/notes/lock", locked=True)

    async def restored(self, session: str, turn: int) -> Kept:
        path = f"/{session}/turns/{turn}/workspace"
        return _kept(await self.ask("GET", path, frozenset({"TURN_IN_PROGRESS"})))

    async def known(self) -> list[int]:
        return [turn["number"] for turn in (await self.ask("GET", f"/{self.id}/turns"))["turns"]]

    async def settled(self, session: str) -> Card:
        async with asyncio.timeout(90):
            while (card := await self.ask("GET", f"/{session}"))["state"] not in ("idle", "failed"):
                await asyncio.sleep(0.05)
        return card

    async def prompt(self, session: str, text: str) -> Card:
        await self.ask("POST", f"/{session}/prompt", frozenset({"TURN_RUNNING", "BRANCH_FORKING"}), text=text)
        return await self.settled(session)

    async def round(self, number: int, kill: Callable[[], Awaitable[None]]) -> None:
        """Edits, then a turn begins, a branch is made of the one before, and somebody is killed; then both are looked
        at."""
        before = (await self.known() or [0])[-1]
        await self.ask("PUT", f"/{self.id}/objective", text=f"goal {number}")
        await self.ask("POST", f"/{self.id}/plan/add", items=[f"step {number}"])
        wanted = await self.restored(self.id, before)
        assert wanted[0] == f"goal {number}"
        branching = self.ask("POST", f"/{self.id}/branches", frozenset({"TURN_IN_PROGRESS"}), turn=before, fork=True)
        _, branch, _ = await asyncio.gather(self.prompt(self.id, f"turn {number}"), branching, kill())
        self.expected |= {before: wanted} | {turn: wanted for turn in (await self.known())[:-1] if turn > before}
        assert await self.ready(branch["session_id"]) == "ready"
        assert branch["session_id"] not in self.branches
        self.branches[branch["session_id"]] = before
        assert await self.restored(branch["session_id"], before) == wanted

    async def ready(self, branch: str) -> str:
        async with asyncio.timeout(90):
            while (state := (await self.ask("GET", f"/{branch}/branch"))["state"]) == "forking":
                await asyncio.sleep(0.05)
        return str(state)

    async def looked_through(self) -> None:
        """Every turn of the origin and of every branch, none made twice; and all of them go on."""
        for turn, wanted in self.expected.items():
            assert await self.restored(self.id, turn) == wanted, turn
        listed = (await self.ask("GET", f"/{self.id}/branches"))["branches"]
        assert {one["session_id"]: one["turn"] for one in listed} == self.branches
        said = (await self.ask("GET", f"/{self.id}/messages"))["messages"]
        for branch, fork in self.branches.items():
            for turn in range(fork + 1):
                if turn in self.expected:
                    assert await self.restored(branch, turn) == self.expected[turn], (fork, turn)
            heard = [one["text"] for one in (await self.ask("GET", f"/{branch}/messages"))["messages"]]
            assert heard == [one["text"] for one in said][: len(heard)]
            await self.goes_on(branch)
        await self.goes_on(self.id)

    async def goes_on(self, session: str) -> None:
        """The next prompt is answered, also where it met an agent whose runner was killed a moment ago."""
        card = await self.prompt(session, "on")
        assert (card["state"], card["outcome"]) == ("idle", "ok"), card


def _kills(rounds: int) -> int:
    """A round takes ten seconds and more."""
    return min(6, max(3, rounds // 5))


@pytest.mark.parametrize("victim", ["treadle", "postgres", "nats"])
async def test_turns_and_branches_over_kill_9_of(victim: str, tmp_path: Path, rounds: int) -> None:
    chance = random.Random(f"{victim}-{os.environ.get('TREADLE_SEED', '20261130')}")
    async with running_stack(tmp_path) as stack:

        async def kill() -> None:
            await asyncio.sleep(chance.uniform(0, _LATEST_SECONDS))
            if victim == "treadle":
                await stack.kill()
                await stack.start()
                return
            name = {"postgres": "postgres", "nats": "nats-server"}[victim]
            for child in psutil.Process(stack.process.pid).children():
                if child.name() == name:
                    os.kill(child.pid, signal.SIGKILL)

        async with stack.client(timeout=10) as client:
            talk = Conversation(client)
            await talk.open()
            for number in range(1, _kills(rounds) + 1):
                await talk.round(number, kill)
            await talk.looked_through()
            await assert_verified(str(stack.home))


@pytest.mark.parametrize("victim", ["planning", "streaming"])
async def test_turns_and_branches_of_two_tenants_over_kill_9_of_a_replica_of(
    victim: str, tmp_path: Path, servers: Engines, make_database: MakeDatabase, nats_server: NatsServer, rounds: int
) -> None:
    chance = random.Random(f"{victim}-{os.environ.get('TREADLE_SEED', '20261130')}")
    urls = {name: await make_database(name) for name in SERVICES}
    environment = {"TREADLE_AUTH_SECRET": SECRET}
    async with running_fleet(tmp_path, servers, urls, nats_server.url, environment=environment) as fleet:

        async def kill(replica: int) -> None:
            await asyncio.sleep(chance.uniform(0, _LATEST_SECONDS))
            process = fleet.processes[victim][replica]
            await process.kill()
            await process.start()

        async with _client(fleet.gateways[0], "acme") as acme, _client(fleet.gateways[1], "umbra") as umbra:
            ours, theirs = Conversation(acme), Conversation(umbra)
            await asyncio.gather(ours.open(), theirs.open())
            for number in range(1, _kills(rounds) + 1):
                await asyncio.gather(
                    ours.round(number, lambda: kill(0)),
                    theirs.round(number, lambda: kill(1)),
                )
            await asyncio.gather(ours.looked_through(), theirs.looked_through())
            branch = next(iter(ours.branches))
            for path in (
                "plan",
                "objective",
                "graph",
                "turns",
                "branch",
                "branches",
                "documents/notes",
                "turns/0/workspace",
            ):
                for session in (ours.id, branch):
                    answer = await umbra.get(f"/api/sessions/{session}/{path}")
                    assert answer.status_code == 404, path
            answer = await umbra.post(f"/api/sessions/{ours.id}/branches", json={"turn": 0})
            assert answer.status_code == 404
            answer = await umbra.post(
                f"/api/sessions/{theirs.id}/cherry_pick", json={"source": ours.id, "objective": True}
            )
            assert answer.status_code == 404
        await assert_verified(urls)


def _client(url: str, tenant: str) -> httpx.AsyncClient:
    person = Principal(tenant, "ann", "user", frozenset({"reviewer"}))
    token = Authenticator(SECRET, SystemClock()).mint(person, timedelta(hours=1))
    return httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=10)


@pytest.mark.parametrize("hangs", [False, True], ids=["gone", "hangs"])
async def test_without_planning_no_turn_begins_and_when_it_is_back_all_goes_on(
    hangs: bool, tmp_path: Path, servers: Engines, make_database: MakeDatabase, nats_server: NatsServer
) -> None:
    urls = {name: await make_database(name) for name in SERVICES}
    async with running_fleet(tmp_path, servers, urls, nats_server.url, replicas=1) as fleet:
        [planning] = fleet.processes["planning"]
        async with fleet.client(timeout=60) as client:
            talk = Conversation(client)
            await talk.open()
            await talk.prompt(talk.id, "one")
            os.kill(planning.pid, signal.SIGSTOP) if hangs else await planning.kill()
            try:
                for path, body in (("prompt", {"text": "two"}), ("plan/add", {"items": ["x"]})):
                    answer = await client.post(f"/api/sessions/{talk.id}/{path}", json=body)
                    assert answer.status_code in ((503, 504) if hangs else (503,)), answer.text
                shown = (await client.get(f"/api/sessions/{talk.id}")).json()
                assert (shown["state"], shown["code"]) == ("failed", "start_failed")
                said = (await client.get(f"/api/sessions/{talk.id}/messages")).json()["messages"]
                assert [one["text"] for one in said if one["role"] == "assistant"] == ["You said: one"]
                made = await client.post("/api/sessions", json={"adapter": "scripted"})  # its workspace comes later
                assert made.status_code == 200, made.text
            finally:
                os.kill(planning.pid, signal.SIGCONT) if hangs else await planning.start()
            for session in (talk.id, made.json()["id"]):
                card = await talk.prompt(session, "three")
                assert (card["state"], card["outcome"]) == ("idle", "ok")
                turns = (await talk.ask("GET", f"/{session}/turns"))["turns"]
                # Each prompt that was refused meanwhile took a number, and none of them is a turn of the plan.
                numbers = [turn["number"] for turn in turns]
                if session == talk.id:
                    assert (len(numbers), numbers[0], numbers[1] >= 3) == (2, 1, True), numbers
                else:
                    assert len(numbers) == 1, numbers
                for turn in turns:
                    await talk.restored(session, turn["number"])
        await assert_verified(urls)
