"""Coordinators and workers as another person makes them, and the workers rail of a session's page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Locator, Page, Request, expect

from tests.browser.console import Console
from tests.browser.sessions import SessionPage, Sessions


@dataclass(frozen=True)
class Workers:
    """The REST side of a test."""

    sessions: Sessions

    async def coordinator(self, title: str, prompt: str = "", state: str = "idle") -> str:
        """A session in thread mode; with a prompt, as soon as its turn is in that state."""
        session = await self.sessions.create(title)
        await self.post("/api/coordination/flag", {"session_id": session, "enabled": True})
        if prompt:
            await self.sessions.prompt(session, prompt)
            await self.sessions.waits(session, state)
        return session

    async def registered(self, coordinator: str, name: str, brief: str = "by hand", text: str = "") -> str:
        """A worker that runs elsewhere, with a final report where there is one; its session."""
        session = await self.sessions.create(f"Thread: {name}")
        body = {"coordinator_session_id": coordinator, "name": name, "worker_session_id": session, "brief": brief}
        await self.post("/api/coordination/register", body)
        if text:
            path = f"/api/sessions/{coordinator}/workers/{name}/report"
            await self.post(path, {"text": text, "final": True})
        return session

    async def note(self, coordinator: str, text: str, worker: str = "") -> None:
        """A note on the coordinator, or on a worker."""
        await self.post(f"/api/sessions/{coordinator}/notes", {"note": text, "thread_name": worker})

    async def roster(self, coordinator: str) -> dict[str, dict[str, Any]]:
        """The workers by name."""
        found = await self.sessions.read(coordinator, "/workers")
        return {worker["name"]: worker for worker in found["threads"]}

    async def until(self, coordinator: str, name: str, status: str) -> dict[str, Any]:
        """The worker as soon as it stands so."""
        async with asyncio.timeout(30):
            while (worker := (await self.roster(coordinator))[name])["status"] != status:
                await asyncio.sleep(0.05)
        return worker

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A call that must succeed."""
        answer = await self.sessions.matters.http.post(path, json=body)
        answer.raise_for_status()
        told: dict[str, Any] = answer.json()
        return told


@dataclass
class Rail:
    """The workers rail in a console."""

    console: Console
    flags: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", self._asked)

    @property
    def page(self) -> Page:
        """The browser's page."""
        return self.console.page

    @property
    def session(self) -> SessionPage:
        """The session's page around it."""
        return SessionPage(self.console)

    async def open(self, session: str) -> None:
        """Opens the session by its address, with the rail beside it."""
        await self.session.open(session)
        await self.show()

    async def show(self) -> None:
        """Shows the rail where it is not shown; where there are workers it comes by itself, perhaps just now."""
        button = self.page.get_by_role("button", name="Workers")
        async with asyncio.timeout(10):
            while not await self.rail.is_visible():
                if await button.get_attribute("aria-pressed") == "false":
                    await button.click()
                await asyncio.sleep(0.05)

    @property
    def rail(self) -> Locator:
        """The rail."""
        return self.page.get_by_role("complementary", name="Workers")

    @property
    def mode(self) -> Locator:
        """The switch of thread mode."""
        return self.rail.get_by_role("switch", name="Thread mode")

    async def settled(self) -> None:
        """Waits until the service knows of the switch."""
        await expect(self.mode).to_have_attribute("aria-busy", "false")

    @property
    def cards(self) -> Locator:
        """Every worker."""
        return self.rail.locator("[data-worker]")

    def card(self, name: str) -> Locator:
        """One worker."""
        return self.rail.locator(f'[data-worker="{name}"]')

    async def stands(self, name: str, status: str) -> None:
        """Waits until the worker is shown so."""
        await expect(self.card(name)).to_have_attribute("data-worker-status", status, timeout=30_000)

    async def details(self, name: str) -> Locator:
        """Opens a worker's card."""
        card = self.card(name)
        head = card.locator("button[aria-expanded]")
        if await head.get_attribute("aria-expanded") == "false":
            await head.click()
        return card

    async def result(self, name: str) -> Locator:
        """Opens what a worker has delivered."""
        await self.card(name).get_by_role("button", name="Result", exact=True).click()
        dialog = self.page.get_by_role("dialog", name=f"Result of {name}")
        await expect(dialog).to_be_visible()
        return dialog

    def _asked(self, request: Request) -> None:
        if request.url.endswith("/api/coordination/flag"):
            self.flags.append(request.post_data_json)
