"""Sessions, workers, plans and branches by axe-core, wide and narrow, light and dark: nothing serious anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from tests.browser.axe import violations
from tests.browser.console import Console, Windows
from tests.browser.matters import Matters
from tests.browser.plans import Panel, Plans
from tests.browser.rosters import ENDS, WORDS, roster
from tests.browser.sessions import SessionPage, Sessions
from tests.browser.workers import Rail, Workers

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

VIEWS: dict[str, dict[str, Any]] = {
    "wide": {},
    "dark": {"scheme": "dark"},
    "phone": {"width": 390, "height": 844, "touch": True},
    "zoomed": {"width": 640, "height": 400, "scheme": "dark"},
}


@dataclass
class Eyes:
    """One console, looked at in state after state."""

    console: Console
    found: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        """The browser's page."""
        return self.console.page

    async def look(self, state: str) -> None:
        """axe, and whether the page is wider than its window."""
        self.found += await violations(self.page, state)
        if wider := await self.console.overflow():
            self.found.append(f"{state}: {wider} px too wide")

    async def closed(self) -> None:
        """Closes the dialog."""
        await self.console.press("Escape")
        await expect(self.page.get_by_role("dialog")).to_have_count(0)


@pytest.fixture
def sessions(matters: Matters) -> Sessions:
    """Everybody else."""
    return Sessions(matters)


@pytest.fixture(params=list(VIEWS))
async def eyes(request: pytest.FixtureRequest, windows: Windows) -> Eyes:
    """A console of each kind."""
    return Eyes(await windows.open("/sessions", **VIEWS[request.param]))


async def test_a_session_idle_working_asking_and_proposing(eyes: Eyes, sessions: Sessions) -> None:
    page = SessionPage(eyes.console)
    await eyes.look("list")
    await eyes.console.press("n")
    await eyes.look("new session")
    await eyes.closed()
    await page.open(await sessions.create("Empty"))
    await eyes.look("empty")
    await eyes.console.press("v")
    await eyes.look("activity")
    await eyes.console.press("v")
    asking = await sessions.create("Asks")
    await sessions.prompt(asking, "[[think first]] [[tool bash]] [[gate choice left|right|other]]")
    await sessions.waits(asking, "waiting")
    await page.open(asking)
    await expect(eyes.page.locator("[data-gate]")).to_be_visible()
    await eyes.look("gate")
    proposing = await sessions.said("Proposes", '[[propose task_create {"task_text": "Oil the loom"}]]')
    await page.open(proposing)
    await eyes.page.locator("[data-proposals] summary").click()
    await eyes.page.get_by_role("button", name="Decide on").click()
    await expect(eyes.page.get_by_role("button", name="Approve")).to_be_enabled()
    await eyes.look("proposal")
    await eyes.page.get_by_role("button", name="Reject").click()
    await eyes.look("rejecting")
    assert eyes.found == []


async def test_workers_in_every_state(eyes: Eyes, sessions: Sessions) -> None:
    workers = Workers(sessions)
    session = await workers.coordinator("Every state")
    rail = Rail(eyes.console)
    await rail.open(session)
    await expect(rail.rail).to_contain_text("No workers")
    await eyes.look("no workers")

    told = roster(session)
    await eyes.page.route("**/api/coordination/roster*", lambda route: route.fulfill(json=told))
    await rail.open(session)
    await expect(rail.cards).to_have_count(len(told["threads"]))
    for status, reason, _, _ in ENDS:
        card = rail.card(f"{status}-{reason.replace('_', '-')}")
        await expect(card).to_contain_text(WORDS.get(reason, ""))
        await expect(card).not_to_contain_text(f"_{reason}")
    await eyes.look("every state")
    await rail.rail.get_by_role("button", name="asks waits for you. Show it").click()
    await expect(rail.card("asks").locator("button").first).to_be_focused()
    await rail.details("w" * 64)
    await eyes.look("details")
    await eyes.page.get_by_role("button", name="New worker…").click()
    await eyes.page.get_by_role("textbox", name="Name").fill("Bad Name")
    await eyes.look("new worker")
    await eyes.closed()
    await rail.card("at-work").get_by_role("button", name="Cancel at-work").click()
    await eyes.look("cancel")
    await eyes.closed()
    assert eyes.found == []


async def test_results_and_notes(eyes: Eyes, sessions: Sessions) -> None:
    workers = Workers(sessions)
    session = await workers.coordinator("Delivers", "hello")
    text = "## Result\n\nمرحبا 🧵 **bold**\n\n- a\n- b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sql\nselect 1\n```"
    await workers.registered(session, "alpha", text=text)
    for number in range(20):
        await workers.note(session, f"note {number}")
        await workers.note(session, f"note {number}", "alpha")
    rail = Rail(eyes.console)
    await rail.open(session)
    await rail.details("alpha")
    await expect(rail.rail.locator("[data-note]")).to_have_count(40)
    await rail.rail.get_by_role("list", name="Coordinator's notes").scroll_into_view_if_needed()
    await expect(rail.rail.locator("[data-note]").last).to_be_in_viewport()
    await eyes.look("notes")
    await rail.result("alpha")
    await eyes.look("result")
    await eyes.closed()
    if await eyes.page.get_by_role("button", name="Conversation").is_visible():
        await eyes.page.get_by_role("button", name="Conversation").click()
    await eyes.page.get_by_role("button", name="What the agent was told").click()
    await expect(eyes.page.get_by_role("dialog").locator("pre").first).to_be_visible()
    await eyes.look("told")
    assert eyes.found == []


async def test_a_plan_empty_long_and_deep(eyes: Eyes, sessions: Sessions) -> None:
    plans = Plans(sessions)
    session = await plans.sessions.create("Deep")
    panel = Panel(eyes.console)
    await panel.open(session)
    await expect(panel.panel).to_contain_text("No steps yet")
    await eyes.look("empty plan")
    await plans.objective(session, "An aim in many words " * 20)
    await plans.add(session, "top", "words " * 60)
    for level in range(1, 8):
        await plans.add(session, f"level {level + 1}", under=level)
    await plans.add(session, *(f"step {number}" for number in range(50)))
    await plans.toggle(session, 9, 10)
    await plans.call("PUT", f"/api/sessions/{session}/documents/{'k' * 64}", {"content": "words"})
    await expect(panel.panel.locator("[data-step]")).to_have_count(59)
    await expect(panel.panel.locator("[data-document]")).to_have_count(1)
    await eyes.look("plan")
    deepest = await panel.step("1.1.1.1.1.1.1.1").locator("bdi").bounding_box()
    assert deepest
    assert deepest["height"] < 30  # One line.
    await panel.step("1.1").get_by_role("button", name="What to do with step 1.1", exact=True).click()
    await eyes.look("menu")
    await eyes.console.press("Escape")
    await panel.press("1", "Delete")
    await eyes.look("removing")
    await eyes.closed()
    await panel.objective.click()
    await eyes.look("objective")
    await eyes.console.press("Escape")
    await panel.panel.locator("[data-document] button").first.click()
    await expect(eyes.page.get_by_role("textbox", name="Content")).to_have_value("words")
    await eyes.look("document")
    assert eyes.found == []


async def test_branches_and_their_difference(eyes: Eyes, sessions: Sessions) -> None:
    plans = Plans(sessions)
    session = await sessions.said("Trunk", "first")
    await plans.add(session, "a", "b")
    first = await plans.branch(session, 1)
    await plans.add(first, "only there")
    await plans.objective(first, "another aim " * 12)
    await sessions.prompt(first, "elsewhere")
    await sessions.waits(first, "idle")
    for turn in (0, 1, 1):
        await plans.branch(session, turn)
    await plans.branch(first, 1)
    panel = Panel(eyes.console)
    await panel.open(session)
    await eyes.page.get_by_role("button", name="Branches…").click()
    dialog = eyes.page.get_by_role("dialog")
    await expect(dialog.get_by_role("button", name="Compare with")).to_have_count(5)
    names = await dialog.get_by_role("link").all_text_contents()
    assert len(set(names)) == 5
    await eyes.look("graph")
    await dialog.get_by_role("button", name="Compare with Trunk (2)").click()
    await expect(dialog.locator("[data-change]")).to_have_count(2)
    await eyes.look("difference")
    await panel.session.open(first)
    await expect(eyes.page.locator("[data-branch-of]")).to_be_visible()
    await eyes.look("branch")
    assert eyes.found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_inbox_and_a_thread(windows: Windows, matters: Matters, scheme: Literal["light", "dark"]) -> None:
    thread = await matters.proposed("Oil the loom")
    eyes = Eyes(await windows.open(f"/threads/{thread}", scheme=scheme))
    await expect(eyes.console.thread(thread)).to_be_visible()
    await eyes.look("thread")
    await eyes.console.press("?")
    await eyes.look("keys")
    await eyes.closed()
    await eyes.console.press("n")
    await eyes.look("new thread")
    assert eyes.found == []
