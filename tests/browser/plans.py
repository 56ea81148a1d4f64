"""Plans and branches as another person makes them, and the plan panel of a session's page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.console import Console
from tests.browser.sessions import SessionPage, Sessions


@dataclass(frozen=True)
class Plans:
    """The REST side of a test."""

    sessions: Sessions

    async def add(self, session: str, *items: str, under: int | None = None) -> None:
        """Steps at the end, or under a step."""
        body: dict[str, Any] = {"items": list(items)} | ({} if under is None else {"parent_index": under})
        await self.call("POST", f"/api/sessions/{session}/plan/add", body)

    async def toggle(self, session: str, *indices: int) -> None:
        """Done, or not."""
        await self.call("POST", f"/api/sessions/{session}/plan/toggle", {"indices": list(indices)})

    async def objective(self, session: str, text: str) -> None:
        """What it is for."""
        await self.call("PUT", f"/api/sessions/{session}/objective", {"text": text})

    async def texts(self, session: str) -> list[str]:
        """Number and text of every step."""
        plan = await self.sessions.read(session, "/plan")
        return [f"{step['number']} {step['text']}" for step in plan["steps"]]

    async def branch(self, session: str, turn: int) -> str:
        """A branch after that turn, ready; its session."""
        body = {"turn": turn, "fork": True}
        made = await self.call("POST", f"/api/sessions/{session}/branches", body)
        found = str(made["session_id"])
        async with asyncio.timeout(20):
            while (await self.sessions.read(found, "/branch"))["state"] != "ready":
                await asyncio.sleep(0.05)
        return found

    async def call(self, verb: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A call that must succeed."""
        answer = await self.sessions.matters.http.request(verb, path, json=body)
        answer.raise_for_status()
        told: dict[str, Any] = answer.json()
        return told


@dataclass
class Panel:
    """The plan panel in a console."""

    console: Console

    @property
    def page(self) -> Page:
        """The browser's page."""
        return self.console.page

    @property
    def session(self) -> SessionPage:
        """The session's page around it."""
        return SessionPage(self.console)

    async def open(self, session: str) -> None:
        """Opens the session by its address, with the panel beside it."""
        await self.session.open(session)
        await self.page.get_by_role("button", name="Plan", exact=True).click()
        await expect(self.panel).to_be_visible()

    @property
    def panel(self) -> Locator:
        """The panel."""
        return self.page.get_by_role("complementary", name="Plan", exact=True)

    @property
    def objective(self) -> Locator:
        """The objective as it is shown."""
        return self.panel.locator("[data-objective]")

    async def write(self, text: str) -> None:
        """Opens the objective's form and writes."""
        await self.objective.click()
        await self.panel.get_by_role("textbox", name="Objective").fill(text)

    async def shows(self, *steps: str) -> None:
        """Waits until the tree reads so: number and text of each step."""
        wanted = [f"{step}".split(" ", 1) for step in steps]
        rows = self.panel.locator("[data-step]")
        await expect(rows).to_have_count(len(wanted))
        for at, (number, text) in enumerate(wanted):
            await expect(rows.nth(at)).to_have_attribute("data-number", number)
            await expect(rows.nth(at)).to_contain_text(text)

    def step(self, number: str) -> Locator:
        """One step."""
        return self.panel.locator(f'[data-number="{number}"]')

    async def press(self, number: str, *keys: str) -> None:
        """Keys on a step."""
        await self.step(number).focus()
        await self.console.press(*keys)

    async def drag(self, number: str, onto: str, part: float) -> None:
        """Drags a step by its handle onto another: `part` of its height from the top."""
        handle = await self.step(number).locator("span").first.bounding_box()
        target = await self.step(onto).bounding_box()
        assert handle
        assert target
        mouse = self.page.mouse
        await mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
        await mouse.down()
        x, y = target["x"] + target["width"] / 2, target["y"] + target["height"] * part
        await mouse.move(x, y - 3, steps=6)
        await mouse.move(x, y, steps=3)
        await mouse.up()
