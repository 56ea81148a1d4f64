"""Sessions as another person makes and uses them, and what a page does with its streams."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.console import Console
from tests.browser.matters import Matters

_WATCH = """
window.__streams = [];
window.EventSource = class extends EventSource {
  constructor(url, options) {
    super(url, options);
    if (String(url).includes("/api/sessions/")) window.__streams.push(this);
  }
};
"""


@dataclass(frozen=True)
class Sessions:
    """The REST side of a test."""

    matters: Matters

    async def create(self, title: str, adapter: str = "scripted") -> str:
        """Opens a session; its id."""
        answer = await self.matters.http.post("/api/sessions", json={"adapter": adapter, "title": title})
        answer.raise_for_status()
        return str(answer.json()["id"])

    async def prompt(self, session: str, text: str) -> None:
        """Starts a turn, of somebody else."""
        answer = await self.matters.http.post(f"/api/sessions/{session}/prompt", json={"text": text})
        answer.raise_for_status()

    async def read(self, session: str, what: str = "") -> dict[str, Any]:
        """The session, or what is below it."""
        answer = await self.matters.http.get(f"/api/sessions/{session}{what}")
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    async def waits(self, session: str, state: str, seconds: float = 30) -> dict[str, Any]:
        """The session as soon as its turn is in that state."""
        async with asyncio.timeout(seconds):
            while (found := await self.read(session))["state"] != state:
                await asyncio.sleep(0.05)
        return found

    async def said(self, title: str, text: str, state: str = "idle") -> str:
        """A session with one turn behind it (or waiting)."""
        session = await self.create(title)
        await self.prompt(session, text)
        await self.waits(session, state)
        return session


@dataclass(frozen=True)
class SessionPage:
    """The sessions page in a console, and every session stream that it ever opened."""

    console: Console

    @property
    def page(self) -> Page:
        """The browser's page."""
        return self.console.page

    async def open(self, session: str) -> None:
        """Opens a session by its address, with its streams watched."""
        await self.page.add_init_script(_WATCH)
        await self.console.goto(f"/sessions/{session}")
        await self.live(session)

    async def live(self, session: str) -> None:
        """Waits until the session is shown and its stream is open."""
        await expect(self.page.locator(f'article[data-session="{session}"]')).to_have_attribute("data-stream", "live")

    async def streams(self) -> list[tuple[str, bool]]:
        """Every stream opened so far: the session, and whether it is closed."""
        found: list[list[Any]] = await self.page.evaluate(
            "window.__streams.map(s => [s.url.split('/api/sessions/')[1].split('/')[0], s.readyState === 2])"
        )
        return [(session, closed) for session, closed in found]

    async def until(self, *streams: tuple[str, bool]) -> None:
        """Waits until these are the streams."""
        async with asyncio.timeout(10):
            while (found := await self.streams()) != list(streams):
                assert len(found) <= len(streams), found
                await asyncio.sleep(0.05)

    async def send(self, text: str) -> None:
        """Writes into the box and sends it with the keyboard."""
        await self.page.locator("[data-prompt]").fill(text)
        await self.page.keyboard.press("Control+Enter")

    async def shows(self, state: str) -> None:
        """Waits until the turn is shown in that state."""
        chip = self.page.locator("article > header [data-turn-state]")
        await expect(chip).to_have_attribute("data-turn-state", state, timeout=30_000)

    @property
    def text(self) -> Locator:
        """The final text of the newest turn."""
        return self.page.locator("[data-final-text]").last

    def activity(self, kind: str) -> Locator:
        """Entries of the activity of that kind."""
        return self.page.get_by_role("log", name="Activity").locator(f'[data-activity="{kind}"]')

    async def resume(self) -> None:
        """Presses Resume."""
        await self.page.get_by_role("button", name="Resume").click()

    async def delete(self, *sessions: str) -> None:
        """Selects those rows and deletes them."""
        for session in sessions:
            await self.page.locator(f'[data-session-row="{session}"]').focus()
            await self.page.keyboard.press("Space")
        await self.page.get_by_role("toolbar", name="Selected").get_by_role("button", name="Delete").click()
        await self.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(self.page.get_by_role("dialog")).to_have_count(0)
