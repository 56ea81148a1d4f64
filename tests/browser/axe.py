"""axe-core over a page: what it calls serious or critical is a failure."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Page

_AXE: Final = Path(__file__).parents[2] / "gateway/console/node_modules/axe-core/axe.min.js"
_RUN: Final = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
_BAD: Final = ("serious", "critical")


@cache
def _source() -> str:
    return _AXE.read_text(encoding="utf-8")


async def violations(page: Page, state: str) -> list[str]:
    """What a person with a screen reader, or with weak eyes, would stumble over in this state of the page."""
    await page.evaluate(_source())  # Not as a script tag: the page's own policy forbids that.
    found: list[dict[str, Any]] = await page.evaluate(_RUN)
    return [
        f"{state}: {one['id']} ({one['impact']}) {node['html'][:200]}"
        for one in found
        if one["impact"] in _BAD
        for node in one["nodes"][:3]
    ]
