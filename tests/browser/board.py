"""A group's board on the page: its columns by number, its items by their labels (one letter each)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from playwright.async_api import Locator, expect

from tests.browser.console import Console
from tests.browser.families import Families


@dataclass(frozen=True)
class Board:
    """The board of one umbrella."""

    console: Console
    families: Families
    umbrella: str
    columns: list[str]

    @property
    def section(self) -> Locator:
        """The whole."""
        return self.console.page.get_by_role("region", name="Groups", exact=True)

    def column(self, number: int) -> Locator:
        """One column."""
        return self.console.page.locator(f'[data-column="{self.columns[number]}"]')

    def item(self, label: str, number: int) -> Locator:
        """An item where it lies."""
        return self.console.page.locator(f'[data-item="{self.columns[number]}|{label}"]')

    def cross(self, number: int) -> Locator:
        """The column's cross."""
        return self.column(number).get_by_role("button", name="Delete group")

    async def has(self, *labels: str) -> None:
        """Waits until the page shows these items: `has("abc", "d", "")`."""
        for number, wanted in enumerate(labels):
            await expect(self.column(number)).to_be_visible()
            items = self.column(number).get_by_role("option")
            await expect(items).to_have_count(len(wanted))
            for place, label in enumerate(wanted):
                await expect(items.nth(place)).to_have_attribute("data-item", f"{self.columns[number]}|{label}")

    async def stored(self, *labels: str) -> None:
        """Waits until the service has these items."""
        async with asyncio.timeout(10):
            while await self._now() != list(labels):
                await asyncio.sleep(0.05)

    async def _now(self) -> list[str]:
        return ["".join(await self.families.items(column)) for column in self.columns]

    async def hold(self, label: str, number: int) -> None:
        """Presses the pointer on an item."""
        await self.point(self.item(label, number))
        await self.console.page.mouse.down()

    async def over(self, number: int) -> None:
        """Moves the pointer over a column."""
        await self.point(self.column(number))

    async def point(self, target: Locator) -> None:
        """Moves the pointer to the middle of it, on the way as a hand does."""
        await target.scroll_into_view_if_needed()
        x, y = await self.middle(target)
        await self.console.page.mouse.move(x, y, steps=6)

    async def middle(self, target: Locator) -> tuple[float, float]:
        """The middle of it, in the window."""
        box = await target.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    async def swipe(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """A finger from one place to the other."""
        session = await self.console.page.context.new_cdp_session(self.console.page)
        for step in range(9):
            x, y = (a + (b - a) * step / 8 for a, b in zip(start, end, strict=True))
            kind = "touchMove" if step else "touchStart"
            await session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        await session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        await session.detach()

    async def drag(self, label: str, number: int, *, to: int) -> None:
        """From press to drop."""
        await self.hold(label, number)
        await self.over(to)
        await self.console.page.mouse.up()
