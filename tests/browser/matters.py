"""Threads as another person makes and decides them: over REST, beside the browser under test."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Matters:
    """The REST side of a test."""

    http: httpx.AsyncClient

    async def create(self, title: str, description: str = "", **more: Any) -> str:
        """Opens a thread; its id."""
        answer = await self.http.post("/api/threads", json={"title": title, "description": description, **more})
        answer.raise_for_status()
        return str(answer.json()["id"])

    async def card(self, thread_id: str) -> dict[str, Any]:
        """The thread as it stands."""
        answer = await self.http.get(f"/api/threads/{thread_id}")
        answer.raise_for_status()
        card: dict[str, Any] = answer.json()
        return card

    async def events(self, thread_id: str) -> list[dict[str, Any]]:
        """The thread's log."""
        answer = await self.http.get(f"/api/threads/{thread_id}/events", params={"page_size": 1000})
        answer.raise_for_status()
        events: list[dict[str, Any]] = answer.json()["events"]
        return events

    async def waits(self, thread_id: str, state: str, seconds: float = 30) -> dict[str, Any]:
        """The card as soon as the thread is in that state."""
        async with asyncio.timeout(seconds):
            while (card := await self.card(thread_id))["state"] != state:
                await asyncio.sleep(0.05)
        return card

    async def proposed(self, title: str, description: str = "", **more: Any) -> str:
        """A thread whose action waits for approval."""
        thread_id = await self.create(title, description, **more)
        await self.waits(thread_id, "awaiting_confirmation")
        return thread_id

    async def decide(self, thread_id: str, verb: str, **body: Any) -> httpx.Response:
        """A decision of somebody else."""
        return await self.http.post(f"/api/threads/{thread_id}/{verb}", json=body)
