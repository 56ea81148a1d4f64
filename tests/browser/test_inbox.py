"""The inbox as a list: several decisions at once, search, and what is done now and then."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Route, expect

from tests.browser.console import Console, Windows
from tests.browser.families import Families, appending
from tests.browser.matters import Matters
from tests.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


async def test_several_rows_are_approved_at_once_by_keyboard(console: Console, matters: Matters) -> None:
    first = await matters.proposed("Append one to batch.md")
    second = await matters.proposed("Append two to batch.md")
    for thread_id in (first, second):
        await console.row(thread_id).focus()
        await console.press("Space")
    bar = console.page.get_by_role("group", name="Decide on the selected")
    await expect(bar.get_by_role("status")).to_have_text("2 selected")
    await bar.get_by_role("button", name="Approve").click()
    dialog = console.page.get_by_role("dialog", name="Approve 2 threads?")
    await expect(dialog.get_by_text("batch.md").first).to_be_visible()
    await expect(dialog.get_by_role("button", name="Approve 2")).to_be_focused()
    await console.press("Enter")
    await expect(console.page.get_by_text("2 approved")).to_be_visible()
    await matters.waits(first, "done")
    await matters.waits(second, "done")
    await expect(bar).to_have_count(0)


async def test_each_item_of_a_batch_is_answered_for_itself(console: Console, matters: Matters) -> None:
    first = await matters.proposed("Append mine to race.md")
    second = await matters.proposed("Append theirs to race.md")

    async def somebody_is_faster(route: Route) -> None:
        assert (await matters.decide(second, "dismiss")).status_code == 200
        await route.continue_()

    await console.page.route("**/api/inbox/decide", somebody_is_faster)
    await console.page.get_by_role("button", name="Select", exact=True).click()
    await console.row(first).click()
    await console.row(second).click()
    await console.page.get_by_role("group", name="Decide on the selected").get_by_role("button", name="Approve").click()
    await console.press("Enter")
    await expect(console.page.get_by_text("1 approved, 1 not")).to_be_visible()
    await expect(console.page.locator("[data-outcome=failed]")).to_contain_text("Append theirs to race.md")
    await matters.waits(first, "done")
    assert (await matters.card(second))["state"] == "dismissed"


async def test_a_batch_leaves_out_what_the_decision_does_not_fit(console: Console, matters: Matters) -> None:
    ready = await matters.proposed("Append this to fit.md")
    asking = await matters.create("Ask first", "[[clarify: Which?]]")
    await matters.waits(asking, "awaiting_action_clarification")
    await expect(console.row(asking).locator("[data-state=awaiting_action_clarification]")).to_be_visible()
    for thread_id in (ready, asking):
        await console.row(thread_id).focus()
        await console.press("Space")
    bar = console.page.get_by_role("group", name="Decide on the selected")
    await bar.get_by_role("button", name="Approve 1").click()
    await expect(console.page.get_by_role("dialog")).to_contain_text("Left out: Ask first (to answer)")
    await console.press("Escape")
    await console.press("Escape")
    await expect(bar).to_have_count(0)
    assert (await matters.card(ready))["state"] == "awaiting_confirmation"


async def test_search_finds_threads_of_any_level_and_state(
    console: Console, families: Families, matters: Matters
) -> None:
    _, [child, _] = await families.create(
        "singular", "An umbrella", appending("Zanzibar ferry", "z.md"), appending("Another", "z.md")
    )
    done = await matters.proposed("Zanzibar hotel")
    await matters.decide(done, "dismiss")
    await console.press("/")
    await console.page.keyboard.type("zanzibar")
    await expect(console.row(child)).to_be_visible()
    await expect(console.row(done)).to_be_visible()
    await expect(console.page.locator("[data-row]")).to_have_count(2)
    await console.page.reload()
    await expect(console.page.get_by_label("Search all threads")).to_have_value("zanzibar")
    await expect(console.page.locator("[data-row]")).to_have_count(2)
    await console.page.get_by_label("Search all threads").fill("zanzibarx")
    await expect(console.page.get_by_text("No thread holds these words")).to_be_visible()


async def test_renaming_by_keyboard_is_found_under_the_new_name(console: Console, matters: Matters) -> None:
    thread_id = await matters.proposed("Append the old name to name.md")
    await console.read(thread_id)
    await console.press("t")
    await console.page.keyboard.type("Quokka")
    await console.press("Enter")
    await expect(console.page.get_by_role("heading", level=1)).to_have_text("Quokka")
    await console.page.get_by_label("Search all threads").fill("quokka")
    await expect(console.page.locator("[data-row]")).to_have_count(1)


async def test_handing_off_names_whom(console: Console, matters: Matters) -> None:
    thread_id = await matters.proposed("Append what somebody else does to off.md")
    await console.read(thread_id)
    await console.page.get_by_role("button", name="More").click()
    await console.page.get_by_role("menuitem", name="Hand off").click()
    dialog = console.page.get_by_role("dialog", name="Hand off")
    await expect(dialog.get_by_label("To")).to_be_focused()
    await console.page.keyboard.type("the night shift")
    await dialog.get_by_label("Note").fill("It is in the drawer.")
    await console.press("Control+Enter")
    await console.shows(thread_id, "handed_off")
    [event] = [e for e in await matters.events(thread_id) if e["data"].get("trigger") == "hand_off"]
    assert "the night shift" in str(event["data"])


async def test_another_action_is_picked_or_none(console: Console, matters: Matters) -> None:
    thread_id = await matters.proposed("Append the choice to choice.md")
    await console.read(thread_id)
    await console.press("p")
    await console.page.get_by_role("dialog").get_by_role("button", name="Task create").click()
    await console.page.get_by_role("dialog").get_by_label("task_text").fill("Choose")
    await console.press("Control+Enter")
    panel = console.thread(thread_id).locator("[data-panel]")
    await expect(panel.get_by_text("task_create")).to_be_visible()
    await expect(panel.get_by_role("button", name="Approve")).to_be_enabled()
    await console.press("p")
    await console.page.get_by_role("button", name="Clear proposal").click()
    await expect(panel.get_by_text("No action is proposed.")).to_be_visible()
    await console.shows(thread_id, "awaiting_confirmation")
    assert (await matters.card(thread_id))["actions"] == []


async def test_the_source_is_cleaned_up_from_the_menu(console: Console, matters: Matters, console_stack: Stack) -> None:
    journal = files_of(console_stack) / "journal.md"
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_text("keep\nthrow away\n")
    item = {
        "id": "line",
        "source": "journal_note",
        "type": "todo_line",
        "payload": {"note_path": "journal.md", "line_text": "throw away"},
    }
    thread_id = await matters.proposed("Append it to elsewhere.md", context_items=[item])
    await console.read(thread_id)
    await console.press("c")
    await expect(console.page.get_by_role("dialog", name="Clean up the source?")).to_be_visible()
    assert "throw away" in journal.read_text()
    await console.press("Enter")
    await console.shows(thread_id, "done_cleanup_successful")
    assert journal.read_text() == "keep\n"


async def test_a_failed_clean_up_is_retried_or_left(console: Console, matters: Matters, console_stack: Stack) -> None:
    payload = {"note_path": "../outside.md", "line_text": "x"}
    item = {"id": "line", "source": "journal_note", "type": "todo_line", "payload": payload}
    thread_id = await matters.proposed("Append it to nowhere.md", context_items=[item])
    await console.read(thread_id)
    await console.press("c", "Enter")
    await console.shows(thread_id, "done_cleanup_unsuccessful")
    await expect(console.page.get_by_role("button", name="Clean up again")).to_be_enabled()
    await console.press("a")
    await expect(
        console.page.get_by_role("region", name="History").get_by_text("asked for the clean-up again").first
    ).to_be_visible()
    await console.shows(thread_id, "done_cleanup_unsuccessful")
    await console.button("Leave it as it is")
    await console.shows(thread_id, "done")


async def test_a_result_under_review_is_accepted_as_one(console: Console, matters: Matters) -> None:
    # No action that a runner of this stack knows asks for a review: the answers are those of a thread that does.
    thread_id = await matters.proposed("Append what is looked at to review.md")
    accepted: list[str] = []

    async def under_review(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "state": "awaiting_review"})

    async def accept(route: Route) -> None:
        accepted.append(str(route.request.post_data))
        now = {"thread_id": thread_id, "prev_state": "awaiting_review", "next_state": "done"}
        await route.fulfill(json=now)

    await console.page.route(f"**/api/threads/{thread_id}", under_review)
    await console.page.route(f"**/api/threads/{thread_id}/accept_review", accept)
    await console.read(thread_id)
    await console.button("Accept result")
    await expect(console.page.get_by_text("Recorded. Now: Done.")).to_be_attached()
    assert len(accepted) == 1
    assert "etag" in accepted[0]


async def test_a_phone_selects_rows_without_a_keyboard(windows: Windows, matters: Matters, shots: Path) -> None:
    thread_id = await matters.proposed("Append from the phone to phone.md")
    phone = await windows.open(width=390, height=844)
    await phone.page.get_by_role("button", name="Select", exact=True).click()
    await phone.row(thread_id).click()
    bar = phone.page.get_by_role("group", name="Decide on the selected")
    await expect(bar.get_by_role("button", name="Dismiss")).to_be_visible()
    assert await phone.overflow() == 0
    await phone.page.screenshot(path=shots / "phone-batch.png")
    await bar.get_by_role("button", name="Dismiss").click()
    await phone.page.get_by_role("dialog").get_by_role("button", name="Dismiss 1").click()
    await matters.waits(thread_id, "dismissed")


def files_of(stack: Stack) -> Path:
    """Where the runner's file actions write."""
    return stack.home / "files"
