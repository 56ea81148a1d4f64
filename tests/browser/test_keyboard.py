"""A day at the keyboard: a coordinator opened, a worker made, watched and read; plan, branch, difference, pick."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.console import Console
from tests.browser.keyboard import press_on, tab_to
from tests.browser.matters import Matters
from tests.browser.plans import Panel
from tests.browser.sessions import Sessions
from tests.browser.workers import Rail

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


async def test_everything_goes_by_keys_alone(console: Console, matters: Matters) -> None:
    sessions = Sessions(matters)
    session = await sessions.said("Keys alone", "first")
    rail, panel, page = Rail(console), Panel(console), console.page
    await console.goto("/sessions")
    row = page.locator(f'[data-session-row="{session}"]')
    await expect(row).to_be_visible()
    await console.press("j")
    await expect(row).to_be_focused()
    await console.press("Enter")
    await rail.session.live(session)

    # A worker by hand, watched in its own session, then back.
    await console.press("w")
    await expect(rail.rail).to_be_visible()
    await press_on(page, "New worker…")
    await page.keyboard.type("by-hand")
    await tab_to(page, "Brief")
    await page.keyboard.type("count the looms")
    await console.press("Control+Enter")
    await rail.stands("by-hand", "running")
    await expect(page.get_by_role("button", name="New worker…")).to_be_focused()
    await press_on(page, "Session of by-hand", back=True)
    await expect(page.locator("[data-worker-of]")).to_contain_text("Keys alone")
    await expect(rail.session.text).to_contain_text("count the looms", timeout=30_000)
    await press_on(page, "Keys alone$")
    await rail.session.live(session)

    # Its answer becomes its result, and is read.
    await press_on(page, "Mark as…: how by-hand")
    await expect(page.get_by_role("menuitem").first).to_be_focused()
    await console.press("Enter")
    await rail.stands("by-hand", "succeeded")
    await press_on(page, "Result$")
    dialog = page.get_by_role("dialog", name="Result of by-hand")
    await expect(dialog).to_contain_text("count the looms")
    await console.press("Escape")
    await expect(dialog).to_have_count(0)

    # The plan: written, moved, and the move taken back.
    await console.press("p")
    await tab_to(page, "Add steps$")
    await page.keyboard.type("warp")
    await console.press("Shift+Enter")
    await page.keyboard.type("weave")
    await console.press("Enter")
    await panel.shows("1 warp", "2 weave")
    await tab_to(page, "Step 1$", back=True)
    await console.press("Alt+ArrowDown")
    await panel.shows("1 weave", "2 warp")
    await expect(panel.step("2")).to_be_focused()
    await console.press("Control+z")
    await panel.shows("1 warp", "2 weave")

    # A branch, whose plan loses a step; the step is seen in the difference and taken over again.
    await press_on(page, "Branch off here", back=True)
    await expect(page.locator("[data-branch-of]")).to_contain_text("Branch of Keys alone after turn 1")
    await expect(page.get_by_role("heading", name="Keys alone, from turn 1")).to_be_visible()
    await expect(page).not_to_have_url(re.compile(session))
    await expect(page.get_by_text("being made")).to_have_count(0)
    await console.press("p")
    await panel.shows("1 warp", "2 weave")
    await tab_to(page, "Step 2$")
    await console.press("Delete")
    await panel.shows("1 warp")
    await press_on(page, "Branches…")
    await press_on(page, "Compare with Keys alone$")
    change = page.locator('[data-change="added"]')
    await expect(change).to_contain_text("weave")
    await press_on(page, r"2\s*weave", "Space", back=True)
    await press_on(page, "Take over")
    await expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("Taken over")
    await console.press("Escape")
    await panel.shows("1 warp", "2 weave")
