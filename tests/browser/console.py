"""The console as a person sees it: what to look for on the page, and what must never be heard from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Locator, Page, expect

REFUSED_REQUEST = "Failed to load resource"
"""Chromium's own word for every 4xx and 5xx; the tests provoke some, so only this is not a fault."""


@dataclass
class Console:
    """One page of it."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", self._failed)

    async def goto(self, path: str = "/") -> None:
        """Opens an address and waits until the page is live."""
        await self.page.goto(self.url + path)
        await expect(self.page.locator("[data-live=live]")).to_be_visible()

    async def read(self, thread_id: str) -> None:
        """Opens a thread's own page and waits until it can be decided on."""
        await self.goto(f"/threads/{thread_id}")
        await expect(self.thread(thread_id)).to_be_visible()

    def row(self, thread_id: str) -> Locator:
        """The thread's row in the list."""
        return self.page.locator(f'[data-row="{thread_id}"]')

    def thread(self, thread_id: str) -> Locator:
        """The thread's own part of the page."""
        return self.page.locator(f'article[data-thread="{thread_id}"]')

    async def shows(self, thread_id: str, state: str) -> None:
        """Waits until the open thread is shown in that state."""
        chip = self.thread(thread_id).locator("> header [data-state]")
        await expect(chip).to_have_attribute("data-state", state, timeout=30_000)

    async def press(self, *keys: str) -> None:
        """Keys, one after the other, to whatever has the focus."""
        for key in keys:
            await self.page.keyboard.press(key)

    async def button(self, name: str) -> None:
        """Clicks the decision's button."""
        await self.page.get_by_role("group", name="Decide", exact=True).get_by_role("button", name=name).click()

    async def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        wider: int = await self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wider

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(REFUSED_REQUEST):
            self.faults.append(f"{message.type}: {message.text}")

    def _failed(self, error: Error) -> None:
        self.faults.append(f"uncaught: {error}")


@dataclass
class Windows:
    """The consoles that a test has opened."""

    browser: Browser
    url: str
    consoles: list[Console] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)

    async def open(
        self,
        path: str = "/",
        *,
        width: int = 1360,
        height: int = 860,
        scheme: Literal["light", "dark"] = "light",
        touch: bool = False,
    ) -> Console:
        """A console in a browser context of its own, live."""
        context = await self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
            has_touch=touch,
            is_mobile=touch,
        )
        self.contexts.append(context)
        console = Console(await context.new_page(), self.url)
        self.consoles.append(console)
        await console.goto(path)
        return console

    async def close(self) -> None:
        """Closes all; AssertionError when one of them had a fault."""
        faults = [fault for console in self.consoles for fault in console.faults]
        for context in self.contexts:
            for page in context.pages:
                await page.unroute_all(behavior="ignoreErrors")  # else the next test is told of an answer under way
            await context.close()
        assert not faults, "\n".join(faults)
