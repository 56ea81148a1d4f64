"""Proposals of agents on a session's page and on their thread's; what a branch shows of its origin (P.3)."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.console import Console, Windows
from tests.browser.matters import Matters
from tests.browser.plans import Plans
from tests.browser.sessions import SessionPage, Sessions
from tests.browser.workers import Workers

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture
def sessions(matters: Matters) -> Sessions:
    """Everybody else."""
    return Sessions(matters)


def proposing(words: str) -> str:
    """A prompt whose agent proposes a task."""
    return f'[[propose task_create {{"task_text": "{words}"}}]]'


async def test_a_proposal_appears_live_is_decided_on_its_thread_and_its_end_is_shown(
    console: Console, sessions: Sessions
) -> None:
    page = SessionPage(console)
    session = await sessions.create("Proposing")
    await page.open(session)
    section = console.page.locator("[data-proposals]")
    await expect(section).to_have_count(0)
    await sessions.prompt(session, proposing("Oil the <b>loom</b>"))
    await expect(section.locator("summary")).to_have_text("Proposals: 1 waits for you")
    await section.locator("summary").click()
    row = section.locator("[data-proposal]")
    await expect(row).to_contain_text("Oil the <b>loom</b>")
    thread = str(await row.get_attribute("data-proposal"))
    await row.get_by_role("link").click()
    await console.shows(thread, "awaiting_confirmation")
    await expect(console.page.locator("[data-proposed-in]")).to_contain_text("Proposed by the agent of Proposing")
    await console.button("Approve")
    await console.shows(thread, "done")
    await console.page.locator("[data-proposed-in]").get_by_role("link").click()
    await page.live(session)
    await expect(section.locator("summary")).to_have_text("Proposals: none waits for you")
    await section.locator("summary").click()
    await expect(row.locator("[data-state]")).to_have_attribute("data-state", "done")
    await sessions.prompt(session, proposing("Sweep"))
    await expect(section.locator("summary")).to_have_text("Proposals: 1 waits for you")


async def test_proposals_are_approved_and_rejected_in_their_session(windows: Windows, sessions: Sessions) -> None:
    session = await sessions.said("Decided here", f"{proposing('Oil')} {proposing('Sweep')}")
    for width in (1360, 390):
        console = await windows.open(width=width)
        await SessionPage(console).open(session)
        section = console.page.locator("[data-proposals]")
        await section.locator("summary").click()
        name = "Sweep" if width == 390 else "Oil"
        row = section.locator("[data-proposals] li, li").filter(has_text=name)
        await row.get_by_role("button", name=f"Decide on {name}").click()
        answers = row.get_by_role("group", name=f"Answers to {name}")
        await expect(row).to_contain_text("task_create")
        if name == "Oil":
            await answers.get_by_role("button", name="Approve").click()
            await expect(row.locator("[data-state]")).to_have_attribute("data-state", "done", timeout=30_000)
            await expect(section.locator("summary")).to_have_text("Proposals: 1 waits for you")
            await expect(row.get_by_role("link")).to_be_focused()
        else:
            await answers.get_by_role("button", name="Reject").click()
            await console.page.get_by_role("dialog").get_by_role("button", name="Reject").click()
            await expect(row.locator("[data-state]")).to_have_attribute("data-state", "dismissed", timeout=30_000)
            await expect(section.locator("summary")).to_have_text("Proposals: none waits for you")
        await expect(answers).to_have_count(0)


async def test_who_was_slower_is_told_in_the_session(console: Console, sessions: Sessions) -> None:
    session = await sessions.said("Slower", proposing("Oil"))
    await SessionPage(console).open(session)
    await console.page.route("**/api/stream*", lambda route: route.abort())
    section = console.page.locator("[data-proposals]")
    await section.locator("summary").click()
    await section.get_by_role("button", name="Decide on Oil").click()
    approve = section.get_by_role("button", name="Approve")
    await expect(approve).to_be_enabled()
    thread = str(await section.locator("[data-proposal]").get_attribute("data-proposal"))
    proposal = (await sessions.matters.card(thread))["actions"][0]
    cited = {name: proposal[name] for name in ("proposal_id", "proposal_digest")}
    refused = f"**/api/threads/{thread}/accept"
    await console.page.route(refused, lambda route: route.continue_())
    (await sessions.matters.decide(thread, "reject", **cited)).raise_for_status()
    if await approve.is_visible():
        await approve.click()
        await expect(section.get_by_role("alert")).to_contain_text("Your approval was not applied")
    await expect(section.locator("[data-state]")).to_have_attribute("data-state", "dismissed")


async def test_a_branch_links_to_what_was_open_in_its_origin(windows: Windows, sessions: Sessions) -> None:
    workers = Workers(sessions)
    origin = await workers.coordinator("Origin", proposing("Before") + " [[spawn slow: [[slow 90s]] Look]]")
    await workers.until(origin, "slow", "running")
    await sessions.prompt(origin, proposing("After"))
    await sessions.waits(origin, "idle")
    first = await Plans(sessions).branch(origin, 1)
    none = await Plans(sessions).branch(origin, 0)
    for width in (1360, 390):
        console = await windows.open(width=width)
        page = SessionPage(console)
        await page.open(first)
        section = console.page.locator("[data-origin-links]")
        await expect(section.locator("summary")).to_have_text("Open in the original at turn 1: 2")
        await expect(section.locator("[data-origin-worker]")).to_contain_text("worker slow")
        await expect(section.locator("[data-origin-thread]")).to_contain_text("Before")
        await expect(section.get_by_role("button")).to_have_count(0)
        await expect(console.page.locator("[data-proposals]")).to_have_count(0)
        assert await console.overflow() == 0
    await workers.post(f"/api/sessions/{origin}/workers/slow/cancel", {})
    await expect(section.locator("[data-origin-worker]")).to_contain_text("Cancelled", timeout=40_000)
    await section.locator("[data-origin-thread]").get_by_role("link").click()
    await expect(console.page.locator("[data-proposed-in]")).to_contain_text("Origin")
    await page.open(none)
    await expect(console.page.locator("[data-branch-of]")).to_be_visible()
    await expect(console.page.locator("[data-origin-links]")).to_have_count(0)
