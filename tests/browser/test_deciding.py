"""A person decides in the console, and sees what became of it, without a reload."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from playwright.async_api import Route, expect

from tests.browser.console import Console
from tests.browser.matters import Matters

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


async def test_a_thread_created_over_rest_appears_without_a_reload(console: Console, matters: Matters) -> None:
    await console.page.evaluate("window.sameDocument = true")
    thread_id = await matters.create("Append the rota to rota.md")
    await expect(console.row(thread_id)).to_be_visible()
    await expect(console.row(thread_id).locator("[data-state]")).to_have_attribute(
        "data-state", "awaiting_confirmation"
    )
    assert await console.page.evaluate("window.sameDocument") is True


async def test_approving_by_keyboard_leads_to_done(console: Console, matters: Matters) -> None:
    thread_id = await matters.proposed("Append “oat milk” to shopping.md")
    await console.row(thread_id).click()
    await expect(console.thread(thread_id).get_by_text("file_append").first).to_be_visible()
    await console.press("a")
    await console.shows(thread_id, "done")
    await expect(console.thread(thread_id).get_by_text("approved the action")).to_be_visible()
    assert (await matters.card(thread_id))["state"] == "done"
    executed = [event for event in await matters.events(thread_id) if event["data"].get("trigger") == "execute"]
    assert len(executed) == 1


async def test_redirecting_with_feedback_brings_another_proposal(console: Console, matters: Matters) -> None:
    thread_id = await matters.proposed("Append the minutes to minutes.md")
    before = (await matters.card(thread_id))["actions"][0]["proposal_id"]
    await console.read(thread_id)
    await console.button("Redirect")
    await console.page.get_by_label("What should be different?").fill("make it a task instead")
    await console.press("Control+Enter")
    panel = console.thread(thread_id).locator("[data-panel]")
    await expect(panel.get_by_text("task_create").first).to_be_visible(timeout=30_000)
    await expect(panel.locator("[data-proposal]")).not_to_have_attribute("data-proposal", before)
    history = console.thread(thread_id).get_by_role("region", name="History")
    await expect(history.get_by_text("make it a task instead").first).to_be_visible()


async def test_editing_approves_nothing_and_what_runs_is_what_was_edited(console: Console, matters: Matters) -> None:
    thread_id = await matters.proposed("Append “bread” to edited.md")
    await console.read(thread_id)
    await console.press("e")
    await console.page.get_by_label("text", exact=True).fill("rye bread")
    await console.page.get_by_role("button", name="Save changes").click()
    panel = console.thread(thread_id).locator("[data-panel]")
    await expect(panel.get_by_text("rye bread")).to_be_visible()
    await console.shows(thread_id, "awaiting_confirmation")
    assert (await matters.card(thread_id))["actions"][0]["parameters"]["text"] == "rye bread"
    await console.button("Approve")
    await console.shows(thread_id, "done")


async def test_dismissing_by_keyboard_asks_first(console: Console, matters: Matters) -> None:
    thread_id = await matters.proposed("Remind me of nothing")
    await console.read(thread_id)
    await console.press("d")
    await expect(console.page.get_by_role("dialog", name="Dismiss this thread?")).to_be_visible()
    await console.press("Escape")
    await expect(console.page.get_by_role("dialog")).to_have_count(0)
    assert (await matters.card(thread_id))["state"] == "awaiting_confirmation"
    await console.press("d", "Enter")
    await console.shows(thread_id, "dismissed")


async def test_the_loser_of_a_race_sees_who_won(console: Console, matters: Matters) -> None:
    thread_id = await matters.proposed("Append the winner to winners.md")
    await console.read(thread_id)

    answers: list[httpx.Response] = []

    async def somebody_is_faster(route: Route) -> None:
        answers.append(await matters.decide(thread_id, "dismiss"))
        await route.continue_()

    await console.page.route(f"**/api/threads/{thread_id}/accept", somebody_is_faster)
    await console.press("a")
    told = console.page.get_by_role("alert")
    await expect(told).to_be_visible()
    assert [answer.status_code for answer in answers] == [200], answers[0].text
    await expect(told).to_contain_text("Somebody was faster")
    await expect(told).to_contain_text("local dismissed this just now; it is now dismissed.")
    await expect(told).to_contain_text("Your approval was not applied")
    await console.shows(thread_id, "dismissed")


async def test_a_lost_answer_is_asked_for_again_with_the_same_key(console: Console, matters: Matters) -> None:
    thread_id = await matters.proposed("Append once to once.md")
    await console.read(thread_id)
    keys: list[str | None] = []

    async def answer_is_lost(route: Route) -> None:
        keys.append(await route.request.header_value("idempotency-key"))
        if len(keys) == 1:
            await route.fetch()
            await route.abort("connectionreset")
        else:
            await route.continue_()

    await console.page.route(f"**/api/threads/{thread_id}/accept", answer_is_lost)
    await console.press("a")
    await console.shows(thread_id, "done")
    async with asyncio.timeout(10):
        while len(keys) < 2:
            await asyncio.sleep(0.05)
    await expect(console.page.get_by_role("alert")).to_have_count(0)
    assert keys[0] == keys[1]


async def test_a_question_is_answered_where_it_is_asked(console: Console, matters: Matters) -> None:
    thread_id = await matters.create("Order the thing", "[[clarify: Which thing do you mean?]]")
    await matters.waits(thread_id, "awaiting_action_clarification")
    await console.read(thread_id)
    await expect(console.thread(thread_id).get_by_text("Which thing do you mean?").first).to_be_visible()
    await console.press("r")
    await console.page.keyboard.type("the red one, as a task")
    await console.press("Control+Enter")
    history = console.thread(thread_id).get_by_role("region", name="History")
    await expect(history.get_by_text("the red one, as a task").first).to_be_visible()


async def test_rejecting_and_snoozing(console: Console, matters: Matters) -> None:
    first = await matters.proposed("Append a no to no.md")
    second = await matters.proposed("Append a later to later.md")
    await console.read(first)
    await console.press("x", "Enter")
    await console.shows(first, "dismissed")
    await console.read(second)
    await expect(console.row(second)).to_be_visible()
    await console.press("s", "Enter")
    await expect(console.row(second)).to_have_count(0)
    assert (await matters.card(second))["state"] == "awaiting_confirmation"
