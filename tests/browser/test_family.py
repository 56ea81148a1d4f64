"""A thread's family on its page: the way up, what is below, what it waits for, and what closing it would close."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.console import Console, Windows
from tests.browser.families import Families, appending, asking, calling, holding
from tests.browser.matters import Matters
from tests.browser.slow_server import slow_server

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


async def test_decompose_shows_sub_thread_mini_cards(console: Console, families: Families, matters: Matters) -> None:
    parent = await matters.proposed("Move the office")
    first, second = await families.decompose(parent, appending("Give notice", "move.md"), appending("Boxes", "move.md"))
    await console.read(parent)
    section = console.page.get_by_role("region", name="Sub-threads")
    await expect(section.get_by_text("2 of 2 open")).to_be_visible()
    cards = section.locator("[data-sub-thread]")
    await expect(cards).to_have_count(2)
    await expect(cards.nth(0)).to_have_attribute("data-sub-thread", first)
    await expect(cards.nth(0).locator("[data-state]")).to_have_attribute("data-state", "awaiting_confirmation")
    await matters.decide(second, "dismiss")
    await expect(cards.nth(1).locator("[data-state]")).to_have_attribute("data-state", "dismissed")
    await expect(section.get_by_text("1 of 2 open")).to_be_visible()
    await cards.nth(0).get_by_role("link", name="Give notice").click()
    await expect(console.page).to_have_url(re.compile(rf"/threads/{first}$"))


async def test_a_tree_unfolds_and_the_way_up_is_a_breadcrumb(
    console: Console, families: Families, matters: Matters
) -> None:
    root = await matters.proposed("The whole")
    [middle] = await families.decompose(root, asking("The part"))
    [leaf] = await families.decompose(middle, appending("The piece", "piece.md"))
    await console.read(root)
    section = console.page.get_by_role("region", name="Sub-threads")
    await expect(section.locator("[data-sub-thread]")).to_have_count(1)
    await section.get_by_role("button", name="1 below").click()
    await section.get_by_role("link", name="The piece").click()
    way = console.page.get_by_role("navigation", name="Part of")
    await expect(way.get_by_role("link")).to_have_text(["The whole", "The part"])
    await expect(console.thread(leaf)).to_be_visible()
    await way.get_by_role("link", name="The part").click()
    await expect(console.thread(middle)).to_be_visible()


async def test_waits_for_names_the_children_and_says_which_one_failed(
    console: Console, families: Families, matters: Matters
) -> None:
    umbrella, [waiting, failed] = await families.create(
        "singular", "What for", appending("Still to do", "w.md"), calling("Has failed", "http://mail.invalid/")
    )
    await families.approve(failed)
    await matters.waits(failed, "awaiting_redirect")
    await console.read(umbrella)
    told = console.page.get_by_role("region", name="Explanation")
    await expect(told.get_by_role("link", name="Has failed")).to_be_visible()
    await expect(told).to_contain_text(re.compile(r"Has failed \(failed: .+\), Still to do \(to approve\)"))
    await told.get_by_role("link", name="Still to do").click()
    await expect(console.thread(waiting)).to_be_visible()


async def test_the_root_follows_what_happens_two_levels_below(
    console: Console, families: Families, matters: Matters
) -> None:
    root = await matters.proposed("The top")
    middle, _ = await families.decompose(
        root,
        asking("In between"),
        appending("Beside it", "beside.md"),
    )
    [leaf] = await families.decompose(middle, appending("Far below", "far.md"))
    await console.read(middle)
    await expect(console.page.get_by_role("region", name="Sub-threads").get_by_text("1 of 1 open")).to_be_visible()
    await matters.decide(leaf, "dismiss")
    await console.shows(middle, "done")
    await console.read(root)
    await expect(console.page.get_by_role("region", name="Sub-threads").get_by_text("1 of 2 open")).to_be_visible()


async def test_dismissing_an_umbrella_says_how_many_children_it_closes(
    console: Console, families: Families, matters: Matters
) -> None:
    umbrella, children = await families.create(
        "group", "To be closed", holding("One", "1"), holding("Two", "2"), holding("Three")
    )
    await matters.decide(children[2], "dismiss")
    await console.read(umbrella)
    await console.press("d")
    dialog = console.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("closes 2 open sub-threads")
    await expect(dialog.get_by_role("button", name="Dismiss")).to_be_focused()
    await console.press("Enter")
    await console.shows(umbrella, "dismissed")
    assert [(await matters.card(child))["state"] for child in children] == ["dismissed"] * 3


async def test_a_refused_dismiss_offers_to_stop_what_is_executing(
    console: Console, families: Families, matters: Matters
) -> None:
    async with slow_server() as slow:
        umbrella, [busy, idle] = await families.create(
            "singular", "Busy", calling("Calls", slow.url), appending("Waits", "busy.md")
        )
        await families.approve(busy)
        await slow.asked.wait()
        await console.read(umbrella)
        await console.button("Dismiss")
        dialog = console.page.get_by_role("dialog")
        await expect(dialog.get_by_role("alert")).to_contain_text("executing")
        await dialog.get_by_role("button", name="Stop what is executing too").click()
        await expect(dialog).to_contain_text("closes 2 open sub-threads; what is executing is told to stop")
        await dialog.get_by_role("button", name="Stop and close").click()
        await console.shows(umbrella, "dismissed")
        assert (await matters.card(busy))["state"] == "dismissed"
        assert (await matters.card(idle))["state"] == "dismissed"


async def test_a_family_closed_meanwhile_is_not_closed_as_it_was_not_shown(
    console: Console, families: Families, matters: Matters
) -> None:
    umbrella, children = await families.create(
        "singular", "Changing", appending("First", "c.md"), appending("Second", "c.md"), appending("Third", "c.md")
    )
    await console.read(umbrella)
    await console.button("Dismiss")
    dialog = console.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("closes 3 open sub-threads")
    await matters.decide(children[0], "dismiss")
    await expect(dialog).to_contain_text("closes 2 open sub-threads")
    await console.press("Escape")
    assert (await matters.card(umbrella))["state"] == "monitoring"


async def test_a_phone_shows_a_family_without_a_horizontal_scroll(
    windows: Windows, families: Families, matters: Matters
) -> None:
    parent = await matters.proposed("P" * 150)
    [child] = await families.decompose(parent, appending("C" * 180, "c.md"))
    phone = await windows.open(f"/threads/{parent}", width=390, height=844)
    await expect(phone.page.locator("[data-sub-thread]")).to_have_count(1)
    assert await phone.overflow() == 0
    await phone.goto(f"/threads/{child}")
    await expect(phone.page.get_by_role("navigation", name="Part of").get_by_role("link")).to_have_text("P" * 150)
    assert await phone.overflow() == 0
