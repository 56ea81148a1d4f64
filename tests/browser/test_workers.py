"""The workers rail (design/gateway.md, Console; design/coordination.md): conversation first, and a hand on it."""

from __future__ import annotations

import asyncio
import re
import time

import pytest
from playwright.async_api import expect

from tests.browser.console import Console, Windows
from tests.browser.matters import Matters
from tests.browser.sessions import Sessions
from tests.browser.workers import Rail, Workers

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

FAN_OUT = "Compare the suppliers in parallel:\n- alpha loom\n- beta loom\n- gamma loom"


@pytest.fixture
def workers(matters: Matters) -> Workers:
    """Everybody else."""
    return Workers(Sessions(matters))


@pytest.fixture
def rail(console: Console) -> Rail:
    """The page under test."""
    return Rail(console)


async def test_one_prompt_fans_out_three_workers_collects_and_answers_in_that_same_session(
    rail: Rail, workers: Workers
) -> None:
    session = await workers.sessions.create("Conversation first")
    await rail.open(session)
    await expect(rail.rail).to_contain_text("No workers.")
    await rail.mode.click()
    await expect(rail.mode).to_have_attribute("aria-checked", "true")
    await rail.session.send(FAN_OUT)
    await expect(rail.cards).to_have_count(3, timeout=30_000)
    for name in ("alpha-loom", "beta-loom", "gamma-loom"):
        await rail.stands(name, "succeeded")
    await expect(rail.rail.get_by_role("status")).to_have_text("3 workers: 3 succeeded")
    await rail.session.shows("idle")
    for name in ("alpha", "beta", "gamma"):
        await expect(rail.session.text).to_contain_text(f"Done: {name} loom")
    await expect(rail.page.locator("[data-turn]")).to_have_count(1)
    await rail.console.press("Escape", "v")
    await expect(rail.session.activity("worker")).to_have_count(3)
    await expect(rail.session.activity("worker").first).to_contain_text("succeeded")


async def test_thread_mode_is_told_at_each_opening_and_resume_while_it_is_on(rail: Rail, workers: Workers) -> None:
    session = await workers.sessions.said("Is told", "first")
    on, off = {"session_id": session, "enabled": True}, {"session_id": session, "enabled": False}
    await rail.open(session)
    await expect(rail.mode).to_have_attribute("aria-checked", "false")
    assert rail.flags == []
    await rail.mode.click()
    await rail.settled()
    assert rail.flags == [on]
    await rail.page.reload()
    await rail.session.live(session)
    await expect(rail.mode).to_have_attribute("aria-checked", "true")
    await rail.settled()
    assert rail.flags == [on, on]
    await rail.session.resume()
    await expect(rail.page.get_by_role("button", name="Resume")).to_be_enabled()
    async with asyncio.timeout(10):
        while len(rail.flags) < 3:
            await asyncio.sleep(0.05)
    await rail.mode.click()
    await expect(rail.mode).to_have_attribute("aria-checked", "false")
    await rail.settled()
    assert rail.flags == [on, on, on, off]
    await rail.page.reload()
    await rail.session.live(session)
    await rail.show()
    await expect(rail.mode).to_have_attribute("aria-checked", "false")
    assert rail.flags == [on, on, on, off]


async def test_a_worker_that_waits_is_marked_opened_and_answered_in_its_own_session(
    rail: Rail, workers: Workers
) -> None:
    prompt = "[[spawn alpha: [[gate choice left|right]] I went]] [[wait all 60s]] [[collect all]]"
    session = await workers.coordinator("Asks through a worker")
    await rail.open(session)
    await rail.session.send(prompt)
    card = rail.card("alpha")
    await expect(card).to_contain_text("Waits for you", timeout=30_000)
    await card.get_by_role("link", name="Session of alpha").click()
    banner = rail.page.get_by_role("complementary", name="Whose worker this is")
    await expect(banner).to_contain_text("Worker alpha of Asks through a worker")
    await rail.page.get_by_role("region", name="Choice").get_by_role("button", name="right").click()
    await expect(banner).to_contain_text("Succeeded", timeout=30_000)
    await expect(rail.session.text).to_contain_text("I went")
    await rail.page.keyboard.press("w")
    await expect(rail.rail).to_contain_text("a worker has no workers")
    await banner.get_by_role("link", name="Asks through a worker").click()
    await rail.session.live(session)
    await rail.stands("alpha", "succeeded")
    await expect(rail.session.text).to_contain_text("I went", timeout=30_000)


async def test_the_roster_is_live_and_nothing_polls(rail: Rail, workers: Workers) -> None:
    session = await workers.coordinator("Live")
    await rail.open(session)
    read: list[str] = []
    rail.page.on("request", lambda request: read.append(request.url) if "/roster" in request.url else None)
    await workers.registered(session, "elsewhere")
    await rail.stands("elsewhere", "running")
    await workers.post(f"/api/sessions/{session}/workers/elsewhere/status", {"status": "failed"})
    await rail.stands("elsewhere", "failed")
    await expect(rail.card("elsewhere")).to_contain_text("Its agent failed.")
    before = len(read)
    await rail.page.wait_for_timeout(1_500)
    assert len(read) == before


async def test_ends_are_told_in_words_with_what_is_partial_and_what_is_missing(rail: Rail, workers: Workers) -> None:
    prompt = "[[spawn bad: so far [[fail]] | mute: [[fail]]]] [[wait all 60s]]"
    session = await workers.coordinator("Ends", prompt)
    await rail.open(session)
    await rail.stands("bad", "failed")
    await expect(rail.card("bad")).to_contain_text("Its agent failed.")
    await expect(rail.card("bad")).to_contain_text("Partial")
    await expect(rail.card("mute")).to_contain_text("No text")
    dialog = await rail.result("bad")
    await expect(dialog.get_by_role("alert")).to_contain_text("This is partial")
    await expect(dialog.get_by_role("region", name="Result")).to_contain_text("so far")


async def test_notes_are_written_and_the_one_that_had_to_go_is_told(rail: Rail, workers: Workers) -> None:
    session = await workers.coordinator("Notes")
    await workers.registered(session, "alpha")
    for number in range(50):
        await workers.note(session, f"note {number}", "alpha")
    await rail.open(session)
    card = await rail.details("alpha")
    await expect(card.locator("[data-note]")).to_have_count(50)
    await card.get_by_role("textbox", name="Note on alpha").fill("one <b>more</b>")
    await rail.page.keyboard.press("Control+Enter")
    await expect(card.get_by_role("alert")).to_contain_text("The oldest note was dropped")
    await expect(card.get_by_role("alert")).to_contain_text("note 0")
    await expect(card.locator("[data-note]").last).to_contain_text("one <b>more</b>")
    own = rail.page.get_by_role("textbox", name="Note for the coordinator")
    await own.fill("x" * 2_001)
    await expect(rail.rail.get_by_text("2001 of 2000 characters")).to_be_visible()
    await own.fill("for all of you")
    await own.press("Control+Enter")
    await expect(rail.rail.locator("[data-note]").last).to_contain_text("for all of you")


async def test_notes_of_agents_are_signed_with_words(rail: Rail, workers: Workers) -> None:
    prompt = "[[note mine]] [[spawn alpha: [[note of the worker]] hi]] [[wait all 60s]]"
    session = await workers.coordinator("Signed", prompt)
    await rail.open(session)
    await rail.stands("alpha", "succeeded")
    await rail.details("alpha")
    await expect(rail.rail.locator("[data-note]").filter(has_text="mine")).to_contain_text("the coordinator")
    await expect(rail.card("alpha").locator("[data-note]")).to_contain_text("the worker")
    await expect(rail.rail).not_to_contain_text("ses_")


async def test_a_worker_is_cancelled_after_a_question(rail: Rail, workers: Workers) -> None:
    prompt = "[[spawn slow: begun [[slow 60s]]]] [[wait all 60s]]"
    session = await workers.coordinator("Cancels")
    await rail.open(session)
    await rail.session.send(prompt)
    await rail.stands("slow", "running")
    await rail.card("slow").get_by_role("button", name="Cancel slow").click()
    await rail.page.keyboard.press("Escape")
    await expect(rail.page.get_by_role("dialog")).to_have_count(0)
    await rail.stands("slow", "running")
    await rail.card("slow").get_by_role("button", name="Cancel slow").click()
    await rail.page.get_by_role("dialog").get_by_role("textbox", name="Why").fill("not needed")
    await rail.page.get_by_role("dialog").get_by_role("button", name="Cancel worker").click()
    await rail.stands("slow", "cancelled")
    await expect(rail.card("slow")).to_contain_text("It was asked to stop.")
    await rail.session.shows("idle")


async def test_a_cancel_that_came_too_late_is_refused_in_a_sentence(rail: Rail, workers: Workers) -> None:
    session = await workers.coordinator("Too late")
    await workers.registered(session, "quick")
    await rail.open(session)
    await rail.card("quick").get_by_role("button", name="Cancel quick").click()
    await workers.post(f"/api/sessions/{session}/workers/quick/status", {"status": "succeeded"})
    dialog = rail.page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Cancel worker").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("It had ended already (succeeded), and an end stays.")


async def test_a_worker_is_made_by_hand_and_its_last_answer_becomes_its_result(rail: Rail, workers: Workers) -> None:
    session = await workers.sessions.create("By hand")
    await rail.open(session)
    await rail.page.get_by_role("button", name="New worker…").click()
    dialog = rail.page.get_by_role("dialog", name="New worker")
    await dialog.get_by_role("textbox", name="Name").fill("Bad Name")
    await expect(dialog.get_by_role("alert")).to_contain_text("Small letters")
    await dialog.get_by_role("textbox", name="Name").fill("by-hand")
    await dialog.get_by_role("textbox", name="Brief").fill("count the looms")
    await rail.page.keyboard.press("Control+Enter")
    await expect(dialog).to_have_count(0)
    await rail.stands("by-hand", "running")
    await expect(rail.mode).to_have_attribute("aria-checked", "true")
    worker = (await workers.roster(session))["by-hand"]["ids"]["worker_session_id"]
    told = await workers.sessions.waits(worker, "idle")
    assert told["title"] == "Thread: by-hand"
    await rail.card("by-hand").get_by_role("button", name="Mark as…: how by-hand stands").click()
    await rail.page.get_by_role("menuitem", name="Done: take its last answer").click()
    await rail.stands("by-hand", "succeeded")
    dialog = await rail.result("by-hand")
    await expect(dialog.get_by_role("region", name="Result")).to_contain_text("count the looms")
    await rail.page.keyboard.press("Escape")
    await rail.page.get_by_role("button", name="New worker…").click()
    dialog = rail.page.get_by_role("dialog", name="New worker")
    await dialog.get_by_role("textbox", name="Name").fill("by-hand")
    await expect(dialog.get_by_role("alert")).to_contain_text("has that name already")


async def test_a_result_is_typeset_without_raw_html_and_its_whole_text_is_there_on_demand(
    rail: Rail, workers: Workers
) -> None:
    session = await workers.coordinator("Markdown")
    text = (
        "before\n\n## Result\n\n**bold** <img src=x onerror=alert(1)> [bad](javascript:alert(1)) "
        "[good](https://x.example/)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## After\n\nlater"
    )
    await workers.registered(session, "alpha", text=text)
    await rail.open(session)
    dialog = await rail.result("alpha")
    result = dialog.get_by_role("region", name="Result")
    await expect(result.locator("strong")).to_have_text("bold")
    await expect(result).to_contain_text("<img src=x onerror=alert(1)>")
    await expect(result.locator("img")).to_have_count(0)
    await expect(result.locator("a")).to_have_count(1)
    await expect(result.locator("a")).to_have_attribute("rel", "noreferrer noopener")
    await expect(result.locator("td")).to_have_text(["1", "2"])
    await expect(result).not_to_contain_text("later")
    await dialog.get_by_role("button", name="Whole text").click()
    await expect(result).to_contain_text("before")
    await expect(result).to_contain_text("later")
    await dialog.get_by_role("button", name="As text").click()
    await expect(result).to_contain_text("## Result")


async def test_a_long_result_stays_usable_and_is_read_page_by_page(rail: Rail, workers: Workers) -> None:
    session = await workers.coordinator("Long")
    words = "\n\n".join(f"Paragraph {n}: " + "warp and weft " * 12 for n in range(560))
    await workers.registered(session, "words", text=words)
    await workers.registered(session, "pages", text="\n\n".join(f"{n} " + "x" * 1_000 for n in range(500)))
    await rail.open(session)
    began = time.monotonic()
    dialog = await rail.result("words")
    await expect(dialog.get_by_role("region", name="Result")).to_contain_text("Paragraph 559")
    assert time.monotonic() - began < 5
    assert len(words.split()) > 20_000
    await rail.page.keyboard.press("Escape")
    dialog = await rail.result("pages")
    result = dialog.get_by_role("region", name="Result")
    await expect(dialog).to_contain_text(re.compile("of 50[0-9],[0-9]{3} characters are shown"))
    await expect(result).not_to_contain_text("499 x")
    await dialog.get_by_role("button", name="Read on").click()
    await expect(result).to_contain_text("499 x")
    await expect(dialog.get_by_role("button", name="Read on")).to_have_count(0)


async def test_what_the_agent_was_told_can_be_read_with_its_digest(rail: Rail, workers: Workers) -> None:
    session = await workers.coordinator("Was told", "hello")
    stored = await workers.sessions.read(session, "/context")
    await rail.open(session)
    await rail.page.locator("[data-turn]").get_by_role("button", name="What the agent was told").click()
    dialog = rail.page.get_by_role("dialog", name="What the agent was told")
    await expect(dialog).to_contain_text("As a coordinator")
    await expect(dialog).to_contain_text(stored["sha256"])
    await expect(dialog.locator("[data-told]")).to_have_text(stored["text"], use_inner_text=False)


async def test_the_rail_is_reached_by_keys_alone(rail: Rail, workers: Workers) -> None:
    session = await workers.coordinator("Keys")
    await workers.registered(session, "alpha", text="the result")
    await rail.session.open(session)
    await expect(rail.cards).to_have_count(1)
    await rail.console.press("w")
    await expect(rail.rail).to_have_count(0)
    await rail.console.press("w")
    await rail.mode.focus()
    await rail.console.press("Tab", "Enter")
    await expect(rail.card("alpha").locator("button[aria-expanded]")).to_have_attribute("aria-expanded", "true")
    await rail.console.press("Tab", "Enter")
    dialog = rail.page.get_by_role("dialog", name="Result of alpha")
    await expect(dialog).to_contain_text("the result")
    await rail.console.press("Escape")
    await expect(rail.card("alpha").get_by_role("button", name="Result", exact=True)).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_rail_fits_a_phone(windows: Windows, workers: Workers, scheme: str, shots: object) -> None:
    session = await workers.coordinator("A coordinator with quite a long title that must wrap somewhere", FAN_OUT)
    await workers.registered(session, "n" * 64, brief="a-very-long-word-without-any-space-" * 20)
    console = await windows.open(width=390, height=844, scheme=scheme, touch=True)  # type: ignore[arg-type]
    rail = Rail(console)
    await rail.session.open(session)
    await rail.show()
    await expect(rail.cards).to_have_count(4)
    await rail.details("n" * 64)
    assert await console.overflow() == 0
    await rail.page.screenshot(path=f"{shots}/workers-{scheme}-390.png")
    dialog = await rail.result("alpha-loom")
    assert await console.overflow() == 0
    await rail.page.screenshot(path=f"{shots}/workers-result-{scheme}-390.png")
    await dialog.get_by_role("button", name="Close").click()
    await rail.page.get_by_role("button", name="New worker…").click()
    await rail.page.screenshot(path=f"{shots}/workers-new-{scheme}-390.png")


async def test_a_roster_that_cannot_be_read_says_so_and_comes_back(rail: Rail, workers: Workers) -> None:
    session = await workers.coordinator("Away")
    await workers.registered(session, "alpha")
    await rail.page.route("**/api/coordination/roster*", lambda route: route.fulfill(status=500, body="{}"))
    await rail.session.open(session)
    await rail.show()
    alert = rail.rail.get_by_role("alert").filter(has_text="could not be read")
    await expect(alert).to_be_visible(timeout=20_000)
    await rail.page.unroute("**/api/coordination/roster*")
    await alert.get_by_role("button", name="Try again").click()
    await rail.stands("alpha", "running")
