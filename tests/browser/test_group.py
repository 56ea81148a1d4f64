"""A group umbrella: columns whose items go from one to another (threads-relationship-patterns, "Frontend")."""

from __future__ import annotations

import asyncio
import json

import pytest
from playwright.async_api import Route, expect

from tests.browser.board import Board
from tests.browser.console import Console, Windows
from tests.browser.families import Families, appending, holding
from tests.browser.matters import Matters

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture
async def board(console: Console, families: Families) -> Board:
    """Three columns: a b c | d | nothing."""
    umbrella, columns = await families.create(
        "group", "Open tabs", holding("Letters", "a", "b", "c"), holding("More", "d"), holding("Empty")
    )
    await console.read(umbrella)
    shown = Board(console, families, umbrella, columns)
    await shown.has("abc", "d", "")
    return shown


async def test_columns_of_non_terminal_sub_threads(board: Board, matters: Matters) -> None:
    await matters.decide(board.columns[1], "dismiss")
    await expect(board.column(1)).to_have_count(0)
    await expect(board.column(0)).to_be_visible()
    await expect(board.section.get_by_text("Ended: More (dismissed)")).to_be_visible()
    await expect(board.console.page.get_by_role("region", name="Sub-threads")).to_have_count(0)


async def test_an_item_is_dragged_to_another_column_by_pointer(board: Board) -> None:
    await board.drag("b", 0, to=1)
    await board.has("ac", "db", "")
    await board.stored("ac", "db", "")


async def test_several_items_chosen_with_ctrl_and_shift_are_dragged_together(board: Board) -> None:
    await board.item("a", 0).click()
    await board.item("b", 0).click(modifiers=["Shift"])
    await board.item("d", 1).click(modifiers=["Control"])
    await expect(board.section.get_by_text("3 selected")).to_be_visible()
    await board.drag("b", 0, to=2)
    await board.has("c", "", "abd")
    await board.stored("c", "", "abd")


async def test_a_drag_that_ends_nowhere_or_with_escape_moves_nothing(board: Board) -> None:
    page = board.console.page
    await board.hold("a", 0)
    await page.mouse.move(5, 5, steps=3)
    await page.mouse.up()
    await board.has("abc", "d", "")
    await board.hold("a", 0)
    await board.over(1)
    await board.console.press("Escape")
    await page.mouse.up()
    await board.has("abc", "d", "")
    await board.stored("abc", "d", "")


async def test_items_are_chosen_and_moved_by_keyboard(board: Board) -> None:
    await board.console.press("J")
    await expect(board.item("a", 0)).to_be_focused()
    await board.console.press("x", "J", "J", "x", "m")
    dialog = board.console.page.get_by_role("dialog", name="Move 2 items to")
    await expect(dialog).to_be_visible()
    await board.console.press("j", "Enter")
    await board.has("b", "d", "ac")
    await board.stored("b", "d", "ac")
    await expect(board.item("a", 2)).to_be_focused()


async def test_j_k_and_arrows_walk_and_escape_selects_none(board: Board) -> None:
    await board.console.press("J", "J", "J", "J")
    await expect(board.item("d", 1)).to_be_focused()
    await board.console.press("K")
    await expect(board.item("c", 0)).to_be_focused()
    await board.console.press("ArrowRight")
    await expect(board.item("d", 1)).to_be_focused()
    await board.console.press("x", "ArrowLeft", "x")
    await expect(board.item("d", 1)).to_have_attribute("aria-selected", "true")
    await expect(board.section.get_by_text("2 selected")).to_be_visible()
    await board.console.press("Escape")
    await expect(board.section.get_by_role("option", selected=True)).to_have_count(0)
    await expect(board.column(0)).to_be_visible()


async def test_a_move_is_shown_before_it_is_answered(board: Board) -> None:
    answered = asyncio.Event()

    async def later(route: Route) -> None:
        await answered.wait()
        await route.continue_()

    await board.console.page.route("**/move_item", later)
    await board.drag("a", 0, to=1)
    await board.has("bc", "da", "")
    await board.stored("abc", "d", "")
    answered.set()
    await board.stored("bc", "da", "")
    await board.has("bc", "da", "")


async def test_an_optimistic_move_is_undone_on_failure(board: Board, matters: Matters) -> None:
    async def destination_is_gone(route: Route) -> None:
        await board.has("bc", "da", "")
        answer = await matters.decide(board.columns[1], "dismiss")
        assert answer.status_code == 200, answer.text
        await route.continue_()

    await board.console.page.route("**/move_item", destination_is_gone)
    await board.drag("a", 0, to=1)
    await expect(board.section.get_by_role("alert")).to_contain_text("The move was undone")
    await expect(board.column(1)).to_have_count(0)
    await expect(board.column(0).get_by_role("option")).to_have_text(
        ["a\ntab", "b\ntab", "c\ntab"], use_inner_text=True
    )


async def test_a_move_whose_answer_is_lost_is_sent_again_with_the_same_key(board: Board) -> None:
    keys: list[str | None] = []

    async def answer_is_lost(route: Route) -> None:
        keys.append(await route.request.header_value("idempotency-key"))
        if len(keys) == 1:
            await route.fetch()
            await route.abort("connectionreset")
        else:
            await route.continue_()

    await board.console.page.route("**/move_item", answer_is_lost)
    await board.drag("a", 0, to=1)
    await board.has("bc", "da", "")
    async with asyncio.timeout(10):
        while len(keys) < 2:
            await asyncio.sleep(0.05)
    await board.stored("bc", "da", "")
    await expect(board.section.get_by_role("alert")).to_have_count(0)
    assert keys[0] == keys[1]


async def test_the_chip_lists_per_group_actions_and_clears_the_proposal(board: Board, matters: Matters) -> None:
    chip = board.column(0).get_by_role("button", name="Action of Letters")
    await expect(chip.locator("[data-chip]")).to_have_text("No action")
    await chip.click()
    menu = board.console.page.get_by_role("menu", name="Action of Letters")
    await expect(menu.get_by_role("menuitem")).not_to_have_count(0)
    await expect(menu.get_by_role("menuitem", name="Clear proposal")).to_have_count(0)
    await menu.get_by_role("menuitem", name="dismiss", exact=False).first.click()
    await expect(board.column(0).locator("[data-chip]")).to_have_text("thread_dismiss")
    card = await matters.waits(board.columns[0], "awaiting_confirmation")
    assert card["actions"][0]["name"] == "thread_dismiss"
    await chip.click()
    await menu.get_by_role("menuitem", name="Clear proposal").click()
    await expect(board.column(0).locator("[data-chip]")).to_have_text("No action")
    assert (await matters.card(board.columns[0]))["actions"] == []
    assert await board.families.items(board.columns[0]) == ["a", "b", "c"]


async def test_the_cross_deletes_an_empty_group_at_once(board: Board, matters: Matters) -> None:
    await board.cross(2).click()
    await expect(board.column(2)).to_have_count(0)
    await expect(board.console.page.get_by_role("dialog")).to_have_count(0)
    assert (await matters.card(board.columns[2]))["state"] == "dismissed"


async def test_the_cross_asks_when_the_group_holds_items(board: Board, matters: Matters) -> None:
    dialog = board.console.page.get_by_role("dialog", name="Delete this group?")
    await board.cross(0).click()
    await expect(dialog).to_contain_text("holds 3 items")
    await board.console.press("Escape")
    assert (await matters.card(board.columns[0]))["state"] == "awaiting_action_clarification"
    await board.cross(0).click()
    await dialog.get_by_role("button", name="Delete group").click()
    await expect(board.column(0)).to_have_count(0)
    assert (await matters.card(board.columns[0]))["state"] == "dismissed"
    assert await board.families.items(board.columns[0]) == ["a", "b", "c"]


async def test_a_new_group_is_made_with_a_name(board: Board) -> None:
    await board.section.get_by_role("button", name="+ New group").click()
    await board.console.page.keyboard.type("Numbers")
    await board.console.press("Enter")
    column = board.section.get_by_role("region", name="Numbers")
    await expect(column).to_be_visible()
    assert len(await board.families.children(board.umbrella)) == 4


async def test_items_dropped_on_new_group_get_a_group_of_their_own(board: Board) -> None:
    await board.item("a", 0).click()
    await board.item("c", 0).click(modifiers=["Control"])
    await board.hold("c", 0)
    await board.point(board.section.get_by_role("button", name="New group"))
    await board.console.page.mouse.up()
    column = board.section.get_by_role("region", name="New group")
    await expect(column.get_by_role("option")).to_have_count(2)
    made = (await board.families.children(board.umbrella))[3]
    async with asyncio.timeout(10):
        while await board.families.items(made) != ["a", "c"]:
            await asyncio.sleep(0.05)


async def test_approve_all_shows_the_outcome_of_each(console: Console, families: Families, matters: Matters) -> None:
    umbrella, [first, second, third] = await families.create(
        "group",
        "Approve them",
        {**appending("Ready", "all.md"), "context_items": [{"id": "r", "label": "r"}]},
        appending("Changed", "all.md"),
        holding("Without", "w"),
    )
    await console.read(umbrella)
    button = console.page.get_by_role("button", name="Approve all (2)")
    await expect(button).to_be_enabled()
    bodies: list[dict[str, object]] = []

    async def one_changes_first(route: Route) -> None:
        bodies.append(json.loads(route.request.post_data or "{}"))
        picked = {"capability_name": "file_append", "parameters": {"path": "other.md", "text": "y"}}
        answer = await matters.decide(second, "set_action_proposal", **picked)
        assert answer.status_code == 200, answer.text
        await route.continue_()

    await console.page.route("**/approve_all", one_changes_first)
    await button.click()
    dialog = console.page.get_by_role("dialog", name="Approve 2 actions?")
    await expect(dialog.get_by_text("all.md")).to_have_count(2)
    await dialog.get_by_role("button", name="Approve 2").click()
    told = console.page.locator("[data-outcome]")
    await expect(told).to_have_count(2)
    await expect(console.page.get_by_text("1 approved, 1 not")).to_be_visible()
    await expect(console.page.locator("[data-outcome=approved]")).to_contain_text("Ready")
    await expect(console.page.locator("[data-outcome=failed]")).to_contain_text("Changed")
    await matters.waits(first, "done")
    assert (await matters.card(second))["state"] == "awaiting_confirmation"
    assert (await matters.card(third))["state"] == "awaiting_action_clarification"
    items = bodies[0]["items"]
    assert isinstance(items, list)
    assert [item["thread_id"] for item in items] == [first, second]
    assert all(item["proposal_id"] and item["proposal_digest"] for item in items)


async def test_an_item_is_read_whole_with_enter(board: Board) -> None:
    await board.console.press("J", "Enter")
    await expect(board.console.page.get_by_role("dialog", name="a")).to_be_visible()


async def test_a_phone_stacks_the_columns_and_moves_without_a_drag(windows: Windows, families: Families) -> None:
    umbrella, columns = await families.create("group", "On the way", holding("Up", "u", "v"), holding("Down", "w"))
    phone = await windows.open(f"/threads/{umbrella}", width=390, height=844)
    board = Board(phone, families, umbrella, columns)
    await board.has("uv", "w")
    assert await phone.overflow() == 0
    await board.item("u", 0).click()
    await phone.page.get_by_role("button", name="Move to…").click()
    await phone.page.get_by_role("dialog").get_by_role("button", name="Down").click()
    await board.has("v", "wu")
    await board.stored("v", "wu")
    boxes = [await board.column(number).bounding_box() for number in range(2)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"] - 1


async def test_a_finger_drags_an_item_by_its_handle_and_scrolls_elsewhere(windows: Windows, families: Families) -> None:
    umbrella, columns = await families.create("group", "By hand", holding("Up", "u", "v"), holding("Down", "w"))
    phone = await windows.open(f"/threads/{umbrella}", width=390, height=844, touch=True)
    board = Board(phone, families, umbrella, columns)
    await board.has("uv", "w")
    await board.swipe(await board.middle(board.item("u", 0)), await board.middle(board.column(1)))
    await board.has("uv", "w")
    await board.column(0).scroll_into_view_if_needed()
    handle = board.item("u", 0).locator("[data-handle]")
    await board.swipe(await board.middle(handle), await board.middle(board.column(1)))
    await board.has("v", "wu")
    await board.stored("v", "wu")
