"""A coordinator and its workers as a client of the REST API sees them."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from dataclasses import dataclass
from typing import Any

import httpx

Card = dict[str, Any]
ENDS = ("succeeded", "failed", "cancelled", "interrupted")


@dataclass
class Team:
    """One coordinator session."""

    client: httpx.AsyncClient
    session: str

    async def ask(self, method: str, path: str, **body: Any) -> Card:
        """Of the session; the answer must be 200."""
        answer = await self.client.request(method, f"/api/sessions/{self.session}{path}", json=body or None)
        assert answer.status_code == 200, answer.text
        card: Card = answer.json()
        return card

    async def spawn(self, **briefs: str) -> list[Card]:
        """One call; what became of each."""
        threads = [{"name": name, "brief": brief} for name, brief in briefs.items()]
        answer = await self.ask("POST", "/workers", threads=threads, request_id=uuid.uuid4().hex)
        spawned: list[Card] = answer["threads"]
        return spawned

    async def roster(self) -> dict[str, Card]:
        """By name."""
        return {one["name"]: one for one in (await self.ask("GET", "/workers"))["threads"]}

    async def until(self, condition: Any, seconds: float = 90.0) -> dict[str, Card]:
        """Waits until the roster is so; a gateway or service that is away is waited for."""
        roster: dict[str, Card] = {}
        try:
            async with asyncio.timeout(seconds):
                while True:
                    with contextlib.suppress(httpx.TransportError, AssertionError):
                        roster = await self.roster()
                        if condition(roster):
                            return roster
                    await asyncio.sleep(0.05)
        except TimeoutError:
            brief = {name: (one["status"], one["reason"], one["waiting"]) for name, one in roster.items()}
            raise AssertionError(f"the roster stays {brief}") from None

    async def ended(self, seconds: float = 90.0) -> dict[str, Card]:
        """When all have ended."""
        return await self.until(
            lambda roster: roster and all(one["status"] in ENDS for one in roster.values()), seconds
        )

    async def collect(self, name: str) -> Card:
        """What it delivered."""
        return await self.ask("POST", f"/workers/{name}/collect", full_text=False)

    async def settled(self, seconds: float = 90.0) -> Card:
        """The session, when its turn is over."""
        async with asyncio.timeout(seconds):
            while (card := await self.ask("GET", ""))["state"] not in ("idle", "failed"):
                await asyncio.sleep(0.05)
        return card

    async def answers(self) -> list[str]:
        """What the agent has said in its turns."""
        messages = (await self.ask("GET", "/messages"))["messages"]
        return [message["text"] for message in messages if message["role"] == "assistant"]


async def coordinating(client: httpx.AsyncClient, adapter: str = "scripted", **asked: str) -> Team:
    """A new session with thread mode on, `asked` for besides; an outside one has a turn under way."""
    answer = await client.post("/api/sessions", json={"adapter": adapter, **asked})
    assert answer.status_code == 200, answer.text
    team = Team(client, answer.json()["id"])
    flag = await client.post("/api/coordination/flag", json={"session_id": team.session, "enabled": True})
    assert flag.status_code == 200, flag.text
    if adapter == "external":
        await team.ask("POST", "/turn_begin", text="Compare")
    return team
