"""What the console shows: wide and narrow, light and dark, by keyboard, and never more than text."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.console import Console, Windows
from tests.browser.matters import Matters
from tests.stack import running_stack

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

LONG = "https://example.invalid/" + "a-long-path-without-a-break" * 12


async def test_a_phone_has_no_horizontal_scroll(windows: Windows, matters: Matters, shots: Path) -> None:
    thread_id = await matters.proposed(f"Append to long.md {LONG}"[:200], f"Append to long.md: {LONG}")
    phone = await windows.open(width=390, height=844)
    await expect(phone.row(thread_id)).to_be_visible()
    await phone.page.screenshot(path=shots / "phone-list.png")
    assert await phone.overflow() == 0
    await phone.row(thread_id).click()
    await phone.shows(thread_id, "awaiting_confirmation")
    await phone.page.screenshot(path=shots / "phone-thread.png", full_page=True)
    assert await phone.overflow() == 0
    await phone.button("Edit")
    assert await phone.overflow() == 0
    await phone.page.get_by_role("button", name="Cancel").click()
    await phone.button("Dismiss")
    assert await phone.overflow() == 0


async def test_dark_and_light_follow_the_system(windows: Windows, matters: Matters, shots: Path) -> None:
    thread_id = await matters.proposed("Append the moon to night.md")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    dark = await windows.open(f"/threads/{thread_id}", scheme="dark")
    await dark.shows(thread_id, "awaiting_confirmation")
    await dark.page.screenshot(path=shots / "dark.png")
    light = await windows.open(f"/threads/{thread_id}")
    await light.shows(thread_id, "awaiting_confirmation")
    await light.page.screenshot(path=shots / "light.png")
    assert await dark.page.evaluate(background) == "rgb(23, 22, 20)"
    assert await light.page.evaluate(background) == "rgb(248, 246, 241)"


async def test_the_page_is_served_under_a_strict_policy(console: Console) -> None:
    answer = await console.page.request.get(console.url + "/threads/thr_of-nobody")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    html = await answer.text()
    assert "<script>" not in html
    assert "style=" not in html
    await console.goto("/threads/thr_of-nobody")
    await expect(console.page.get_by_text("There is no such thread")).to_be_visible()


async def test_markup_is_shown_as_text(console: Console, matters: Matters) -> None:
    title = '<img src=x onerror="document.title=1"> & <b>bold</b>'
    thread_id = await matters.proposed(title, "Append to <script>alert(1)</script> markup.md")
    await console.read(thread_id)
    await expect(console.page.get_by_role("heading", level=1)).to_have_text(title)
    assert await console.thread(thread_id).locator("img, b, script").count() == 0


async def test_j_and_k_move_enter_opens_escape_goes_back(windows: Windows, matters: Matters) -> None:
    for number in range(3):
        await matters.proposed(f"Append number {number} to keys.md")
    phone = await windows.open(width=900)
    rows = phone.page.locator("[data-row]")
    await expect(rows.nth(2)).to_be_visible()
    second = await rows.nth(1).get_attribute("data-row")
    assert second is not None
    await phone.press("j", "j", "j", "k")
    await expect(rows.nth(1)).to_be_focused()
    await phone.press("Enter")
    await expect(phone.thread(second).get_by_role("heading", level=1)).to_be_focused()
    await phone.press("Escape")
    await expect(phone.row(second)).to_be_visible()


async def test_keys_rest_while_somebody_types(console: Console, matters: Matters) -> None:
    await console.press("n")
    await console.page.keyboard.type("a dreadful jar of ?")
    await expect(console.page.get_by_role("dialog", name="New thread")).to_be_visible()
    await console.press("Control+Enter")
    heading = console.page.get_by_role("heading", level=1)
    await expect(heading).to_have_text("a dreadful jar of ?")
    thread_id = console.page.url.rsplit("/", 1)[1]
    await console.shows(thread_id, "awaiting_confirmation")
    assert (await matters.card(thread_id))["title"] == "a dreadful jar of ?"


async def test_the_filter_shows_threads_of_one_state(console: Console, matters: Matters) -> None:
    done = await matters.proposed("Append the end to done.md")
    open_ = await matters.proposed("Append the beginning to open.md")
    await matters.decide(done, "dismiss")
    await console.goto("/?view=all")
    await expect(console.row(open_)).to_be_visible()
    await console.page.get_by_label("State", exact=True).select_option("dismissed")
    await expect(console.row(done)).to_be_visible()
    await expect(console.row(open_)).to_have_count(0)


async def test_a_console_left_open_survives_a_restart(windows: Windows, tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack:
        windows.url = stack.url
        console = await windows.open()
        await stack.kill()
        await expect(console.page.locator("[data-live=lost]")).to_be_visible()
        await stack.start()
        async with stack.client() as client:
            thread_id = await Matters(client).create("Append what was missed to missed.md")
            await expect(console.row(thread_id)).to_be_visible(timeout=40_000)
            await expect(console.page.locator("[data-live=live]")).to_be_visible(timeout=40_000)
