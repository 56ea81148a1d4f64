"""A singular umbrella: one card with the actions of all its children (threads-relationship-patterns, "Frontend")."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Locator, expect

from tests.browser.console import Console, Windows
from tests.browser.families import Families, appending, calling
from tests.browser.matters import Matters
from tests.browser.slow_server import slow_server

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

OUTSIDE = "http://mail.invalid/send"


def cards(console: Console) -> Locator:
    """The hoisted actions, in order."""
    return console.page.locator("[data-action-card]")


def card(console: Console, host: str) -> Locator:
    """The card of one host."""
    return console.page.locator(f'[data-action-card="{host}"]')


async def order(console: Console) -> list[str | None]:
    """The hosts, as their cards stand."""
    return [await found.get_attribute("data-action-card") for found in await cards(console).all()]


async def test_childrens_actions_render_hoisted_onto_the_umbrellas_card(console: Console, families: Families) -> None:
    umbrella, hosts = await families.create(
        "singular", "The trip", appending("Book the train", "trip.md"), appending("Tell the others", "told.md")
    )
    await console.read(umbrella)
    await expect(cards(console)).to_have_count(2)
    assert await order(console) == hosts
    first = card(console, hosts[0])
    await expect(first.get_by_text("Book the train")).to_be_visible()
    await expect(first.get_by_text("file_append")).to_be_visible()
    await expect(first.get_by_text("trip.md").first).to_be_visible()


async def test_the_sub_threads_section_is_suppressed_on_a_singular_umbrella(
    console: Console, families: Families
) -> None:
    umbrella, _ = await families.create("singular", "One matter", appending("One", "one.md"))
    await console.read(umbrella)
    await expect(cards(console)).to_have_count(1)
    await expect(console.page.get_by_role("region", name="Sub-threads")).to_have_count(0)
    await expect(console.page.locator("[data-sub-thread]")).to_have_count(0)


async def test_the_whole_action_card_acts_as_a_button(console: Console, families: Families) -> None:
    umbrella, [host] = await families.create("singular", "Press anywhere", appending("Anywhere", "any.md"))
    await console.read(umbrella)
    await expect(card(console, host)).to_have_attribute("role", "button")
    await expect(card(console, host)).to_have_attribute("tabindex", "0")
    await card(console, host).click(position={"x": 6, "y": 6})
    await expect(console.page).to_have_url(re.compile(rf"/threads/{host}"))
    await expect(console.thread(host).get_by_role("group", name="Decide")).to_be_visible()


@pytest.mark.parametrize("key", ["Enter", "Space"])
async def test_enter_and_space_open_the_host(console: Console, families: Families, key: str) -> None:
    umbrella, [host] = await families.create("singular", f"Press {key}", appending("By key", "key.md"))
    await console.read(umbrella)
    await card(console, host).focus()
    await console.press(key)
    await expect(console.page).to_have_url(re.compile(rf"/threads/{host}"))
    await console.page.go_back()
    await expect(card(console, host)).to_be_visible()


async def test_inner_buttons_stop_propagation(console: Console, families: Families, matters: Matters) -> None:
    umbrella, hosts = await families.create(
        "singular", "Inner", *(appending(f"Inner {number}", "inner.md") for number in range(3))
    )
    await console.read(umbrella)
    here = re.compile(rf"/threads/{umbrella}$")
    await card(console, hosts[0]).get_by_role("button", name="Approve").click()
    await matters.waits(hosts[0], "done")
    await expect(console.page).to_have_url(here)
    await card(console, hosts[1]).get_by_role("button", name="Redirect").click()
    feedback = card(console, hosts[1]).get_by_label("What should be different?")
    await feedback.click()
    await console.page.keyboard.type("a b")
    await expect(feedback).to_have_value("a b")
    await console.press("Escape")
    await expect(feedback).to_have_count(0)
    await expect(console.page).to_have_url(here)
    await card(console, hosts[2]).get_by_role("button", name="Dismiss").focus()
    await console.press("Enter")
    await card(console, hosts[2]).get_by_role("group", name="Dismiss it?").get_by_role("button", name="Dismiss").click()
    await matters.waits(hosts[2], "dismissed")
    await expect(console.page).to_have_url(here)


async def test_settled_actions_render_grey_with_a_status_badge(console: Console, families: Families) -> None:
    async with slow_server() as slow:
        umbrella, [done, rejected, failed, running, pending] = await families.create(
            "singular",
            "Badges",
            appending("To be done", "badges.md"),
            appending("To be rejected", "badges.md"),
            calling("To fail", OUTSIDE),
            calling("To run", slow.url),
            appending("To wait", "badges.md"),
        )
        await console.read(umbrella)
        for host in (done, failed, running):
            await families.approve(host)
        await families.matters.decide(rejected, "dismiss")
        for host, badge in ((done, "done"), (rejected, "rejected"), (failed, "failed"), (running, "running")):
            await expect(card(console, host).locator("[data-badge]")).to_have_text(badge, timeout=15_000)
        for host in (done, rejected, failed):
            await expect(card(console, host)).to_have_attribute("data-settled", "true")
        for host in (running, pending):
            await expect(card(console, host)).to_have_attribute("data-settled", "false")
        await expect(card(console, pending).locator("[data-badge]")).to_have_count(0)
        grey = await card(console, done).evaluate("(card) => getComputedStyle(card).backgroundColor")
        lively = await card(console, pending).evaluate("(card) => getComputedStyle(card).backgroundColor")
        assert grey != lively


async def test_pending_first_settled_last(console: Console, families: Families) -> None:
    umbrella, [first, second, third] = await families.create(
        "singular", "Order", *(appending(f"Number {number}", "order.md") for number in range(3))
    )
    await console.read(umbrella)
    await expect(cards(console)).to_have_count(3)
    assert await order(console) == [first, second, third]
    await card(console, first).get_by_role("button", name="Approve").click()
    await expect(card(console, first).locator("[data-badge]")).to_have_text("done", timeout=15_000)
    await expect(cards(console).last).to_have_attribute("data-action-card", first)
    assert await order(console) == [second, third, first]


async def test_a_redirect_button_per_pending_and_failed_action(console: Console, families: Families) -> None:
    umbrella, [pending, failed, done] = await families.create(
        "singular",
        "Redirects",
        appending("Pending", "r.md"),
        calling("Failed", OUTSIDE),
        appending("Done", "r.md"),
    )
    await families.approve(failed)
    await families.approve(done)
    await families.matters.waits(failed, "awaiting_redirect")
    await families.matters.waits(done, "done")
    await console.read(umbrella)
    for host, count in ((pending, 1), (failed, 1), (done, 0)):
        await expect(card(console, host).get_by_role("button", name="Redirect")).to_have_count(count)
    await expect(card(console, failed).get_by_role("button", name="Approve")).to_have_count(0)


async def test_per_action_redirect_asks_the_host_alone_again(
    console: Console, families: Families, matters: Matters
) -> None:
    umbrella, [host, other] = await families.create(
        "singular", "Feedback", appending("Send it by mail", "mail.md"), appending("Leave me", "leave.md")
    )
    [before] = (await matters.card(other))["actions"]
    await console.read(umbrella)
    await card(console, host).get_by_role("button", name="Redirect").click()
    await card(console, host).get_by_label("What should be different?").fill("make it a task instead")
    await console.press("Control+Enter")
    await expect(card(console, host).get_by_text("task_create")).to_be_visible(timeout=30_000)
    await expect(card(console, host).get_by_role("button", name="Approve")).to_be_enabled()
    assert (await matters.card(other))["actions"][0]["proposal_id"] == before["proposal_id"]
    redirected = [e for e in await matters.events(host) if e["kind"] == "action_redirected_with_feedback"]
    assert [event["data"]["feedback"] for event in redirected] == ["make it a task instead"]


async def test_the_keys_of_a_decision_are_about_the_card_that_has_the_focus(
    console: Console, families: Families, matters: Matters
) -> None:
    umbrella, [first, second] = await families.create(
        "singular", "Keys", appending("First", "keys.md"), appending("Second", "keys.md")
    )
    await console.read(umbrella)
    await console.press("J", "J")
    await expect(card(console, second)).to_be_focused()
    await console.press("a")
    await matters.waits(second, "done")
    assert (await matters.card(first))["state"] == "awaiting_confirmation"


async def test_the_card_closes_by_itself_when_all_is_settled(
    console: Console, families: Families, matters: Matters
) -> None:
    umbrella, [first, second] = await families.create(
        "singular", "To the end", appending("Does it", "end.md"), appending("Does not", "end.md")
    )
    await console.read(umbrella)
    await families.matters.decide(second, "dismiss")
    await card(console, first).get_by_role("button", name="Approve").click()
    await console.shows(umbrella, "done")
    await expect(console.page.get_by_text("all settled")).to_be_visible()


async def test_a_phone_shows_the_actions_without_a_horizontal_scroll(windows: Windows, families: Families) -> None:
    umbrella, _ = await families.create("singular", "Narrow", appending("A" * 190, "n.md", "y" * 300))
    phone = await windows.open(f"/threads/{umbrella}", width=390, height=844)
    await expect(cards(phone)).to_have_count(1)
    assert await phone.overflow() == 0
