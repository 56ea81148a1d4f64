"""The connection goes and comes back; two tabs at once; back and forward; addresses that are opened directly."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.console import Console, Windows
from tests.browser.matters import Matters
from tests.browser.plans import Panel, Plans
from tests.browser.sessions import SessionPage, Sessions
from tests.browser.workers import Rail, Workers
from tests.stack import Stack, running_stack

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PATIENT = 60_000


@pytest.fixture
def sessions(matters: Matters) -> Sessions:
    """Everybody else."""
    return Sessions(matters)


async def test_a_server_that_stands_still_is_noticed_and_what_was_missed_is_caught_up(
    console: Console, console_stack: Stack, sessions: Sessions
) -> None:
    session = await sessions.said("Stands still", "first")
    plans, panel, page = Plans(sessions), Panel(console), console.page
    await plans.add(session, "a", "b")
    await panel.open(session)
    await panel.shows("1 a", "2 b")
    os.kill(console_stack.process.pid, signal.SIGSTOP)
    try:
        # The tick is shown at once; that nobody answers is said when the call has run out of time.
        await panel.step("1").get_by_role("checkbox").check()
        await expect(panel.panel.get_by_role("alert")).to_contain_text("did not answer", timeout=PATIENT)
        await expect(page.locator("[data-live]")).not_to_have_attribute("data-live", "live", timeout=PATIENT)
    finally:
        os.kill(console_stack.process.pid, signal.SIGCONT)
    await expect(page.locator("[data-live]")).to_have_attribute("data-live", "live", timeout=PATIENT)
    await plans.add(session, "later")
    await expect(panel.panel.locator("[data-step]")).to_have_count(3, timeout=PATIENT)
    truth = (await sessions.read(session, "/plan"))["steps"][0]["done"]
    await expect(panel.step("1")).to_have_attribute("data-done", str(truth).lower(), timeout=PATIENT)
    await expect(page.locator(f'article[data-session="{session}"]')).to_have_attribute("data-stream", "live")


async def test_after_a_restart_of_everything_the_page_goes_on(browser: Browser, tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack:
        windows = Windows(browser, stack.url)
        console = await windows.open()
        async with stack.client() as client:
            sessions = Sessions(Matters(client))
            session = await Workers(sessions).coordinator("Restarted", "hello")
            await Plans(sessions).add(session, "a")
            rail, panel = Rail(console), Panel(console)
            await rail.open(session)
            await stack.stop()
            await expect(console.page.locator("[data-live=lost]")).to_be_visible(timeout=PATIENT)
            await expect(console.page.locator("header").filter(has_text="reconnecting").last).to_be_visible()
            await stack.start()
            await expect(console.page.locator("[data-live=live]")).to_be_visible(timeout=PATIENT)
            await rail.session.live(session)
            await rail.session.send("again")
            await expect(rail.session.text).to_have_text("You said: again", timeout=PATIENT)
            await console.press("Escape", "p")
            await panel.shows("1 a")
        # What Chromium says of a connection that was refused is no fault of the page.
        console.faults[:] = [fault for fault in console.faults if "ERR_" not in fault]
        await windows.close()


async def test_two_tabs_show_the_same_and_neither_undoes_the_other(windows: Windows, sessions: Sessions) -> None:
    session = await sessions.said("Two tabs", "first")
    await Plans(sessions).add(session, "a", "b", "c")
    left, right = Panel(await windows.open()), Panel(await windows.open())
    for panel in (left, right):
        await panel.open(session)
        await panel.shows("1 a", "2 b", "3 c")
    await left.press("1", "Alt+ArrowDown")
    await right.shows("1 b", "2 a", "3 c")
    await right.press("3", "Space")
    await expect(left.step("3")).to_have_attribute("data-done", "true")
    await left.write("mine")
    await right.write("theirs")
    await right.console.press("Enter")
    await expect(left.panel.get_by_role("alert")).to_contain_text("It was changed while you wrote")
    await left.panel.get_by_role("button", name="Take theirs").click()
    await expect(left.objective).to_have_text("theirs")
    await left.session.send("said on the left")
    await expect(right.session.text).to_have_text("You said: said on the left", timeout=PATIENT)


async def test_back_forward_reload_and_addresses(console: Console, sessions: Sessions) -> None:
    workers = Workers(sessions)
    session = await workers.coordinator("Deep", "[[spawn alpha: look around]] [[wait all 60s]] [[collect all]]")
    await workers.until(session, "alpha", "succeeded")
    rail, page = Rail(console), console.page
    await rail.session.open(session)
    await rail.card("alpha").get_by_role("link", name="Session of alpha").click()
    await expect(page.locator("[data-worker-of]")).to_contain_text("Deep")
    await expect(page).to_have_title(re.compile("alpha"))
    await page.go_back()
    await rail.session.live(session)
    await rail.stands("alpha", "succeeded")
    await page.go_forward()
    await expect(page.locator("[data-worker-of]")).to_contain_text("Deep")
    await page.reload()
    await expect(page.locator("[data-worker-of]")).to_contain_text("Deep")
    await console.goto("/sessions/ses_nowhere")
    await expect(page.get_by_text("There is no such session")).to_be_visible()
    await expect(page.locator("body")).not_to_contain_text("ses_nowhere")


async def test_nothing_jumps_while_a_session_is_opened_and_an_answer_comes(
    console: Console, sessions: Sessions
) -> None:
    session = await sessions.said("Still", "first")
    await Plans(sessions).add(session, "a", "b")
    page = console.page
    await page.add_init_script("""
        window.__shift = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.__shift += entry.value;
        }).observe({ type: "layout-shift", buffered: true });
    """)
    await SessionPage(console).open(session)
    await page.get_by_role("button", name="Plan", exact=True).click()
    await Panel(console).shows("1 a", "2 b")
    await sessions.prompt(session, "[[words 300]]")
    await expect(SessionPage(console).text).to_contain_text("word300", timeout=PATIENT)
    shift = float(await page.evaluate("window.__shift"))
    assert shift < 0.1  # What the Web Vitals call good.


async def test_times_are_relative_with_the_whole_truth_as_their_title(console: Console, sessions: Sessions) -> None:
    session = await sessions.said("Times", "first")
    await Plans(sessions).objective(session, "an aim")
    await Panel(console).open(session)
    times = console.page.locator("time")
    await expect(times.first).to_be_visible()
    for title in await times.evaluate_all("all => all.map(one => one.title)"):
        assert re.search(r"\d{4}, \d{2}:\d{2}:\d{2}", title), title
