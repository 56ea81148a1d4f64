"""A person without a mouse: Tab until it has the focus, then the key that presses it."""

from __future__ import annotations

import re
from typing import Final

from playwright.async_api import Page

_MOST_TABS: Final = 150
_FOCUSED: Final = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return "";
  const label = at.labels?.[0]?.textContent ?? "";
  return (at.getAttribute("aria-label") ?? (label || at.textContent || "")).trim();
}"""


async def tab_to(page: Page, name: str, *, back: bool = False) -> None:
    """Tab until what has the focus is called so (a pattern from its beginning); AssertionError where nothing is."""
    key = "Shift+Tab" if back else "Tab"
    passed: list[str] = []
    for _ in range(_MOST_TABS):
        await page.keyboard.press(key)
        focused = str(await page.evaluate(_FOCUSED))
        if re.match(name, focused):
            return
        passed.append(focused[:30])
    raise AssertionError(f"no way by Tab to {name!r}; passed: {passed}")


async def press_on(page: Page, name: str, key: str = "Enter", *, back: bool = False) -> None:
    """Tab to it, then the key."""
    await tab_to(page, name, back=back)
    await page.keyboard.press(key)
