"""The session page: every UI line of the streaming seed is a test named after it (design/streaming.md D1)."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from playwright.async_api import Route, expect

from tests.browser.console import Console, Windows
from tests.browser.matters import Matters
from tests.browser.sessions import SessionPage, Sessions

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture
def sessions(matters: Matters) -> Sessions:
    """Everybody else."""
    return Sessions(matters)


@pytest.fixture
def page(console: Console) -> SessionPage:
    """The page under test."""
    return SessionPage(console)


async def test_a_prompt_is_answered_and_thinking_stands_apart_from_text(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.create("Thinks")
    await page.open(session)
    await page.send("[[think a silent thought]] The **answer** <i>here</i>. [[tool bash]] [[tool grep fail]]")
    await expect(page.text).to_have_text("The answer <i>here</i>.")
    await expect(page.text.locator("strong")).to_have_text("answer")
    await expect(page.text).not_to_contain_text("silent")
    await expect(page.activity("thinking")).to_contain_text("a silent thought")
    await expect(page.activity("output")).to_contain_text("The **answer**")
    await expect(page.activity("tool")).to_have_text([re.compile("bash.*completed"), re.compile("grep.*failed")])
    await page.shows("idle")
    kinds = await page.page.locator("[data-activity]").evaluate_all("all => all.map(e => e.dataset.activity)")
    assert [kind for kind in kinds if kind in ("prompt", "thinking", "output", "tool")] == [
        "prompt",
        "thinking",
        "output",
        "tool",
        "tool",
    ]
    await expect(page.activity("prompt")).to_have_count(1)


async def test_the_activity_starts_with_the_local_prompt_and_is_not_kept(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.create("Local")
    other = await sessions.create("Elsewhere")
    await page.open(session)
    release = asyncio.Event()

    async def hold(route: Route) -> None:
        await release.wait()
        await route.continue_()

    await page.page.route("**/prompt", hold)
    await page.send("said here")
    await expect(page.activity("prompt")).to_have_attribute("data-status", "sending")
    release.set()
    await expect(page.activity("prompt")).to_have_attribute("data-status", "sent")
    await expect(page.text).to_have_text("You said: said here")
    await page.page.locator(f'[data-session-row="{other}"]').click()
    await page.live(other)
    await expect(page.activity("prompt")).to_have_count(0)


async def test_steering_and_abort_reach_the_agent(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.said("Steers", "[[gate choice a|b]] go", "waiting")
    await page.open(session)
    await expect(page.page.get_by_role("region", name="Choice")).to_be_visible()
    await page.send("go left")
    await expect(page.text).to_contain_text("Steered: go left")
    await expect(page.page.get_by_role("region", name="Choice")).to_have_count(0)
    await page.shows("idle")
    await page.send("[[slow 60s]] never")
    await page.page.get_by_role("button", name="Abort").click()
    await page.shows("idle")
    await expect(page.page.get_by_text("Stopped by a person.").first).to_be_visible()


async def test_a_failed_turn_says_why_by_its_code_alone(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.said("Fails", "some text [[fail]]", "failed")
    await page.open(session)
    await page.shows("failed")
    await expect(page.page.locator("[data-turn]")).to_contain_text("provider refused or broke off")


async def test_a_successful_resume_closes_the_event_source_and_opens_the_same_url_again(
    page: SessionPage, sessions: Sessions
) -> None:
    session = await sessions.said("Resumes", "first")
    await page.open(session)
    await page.resume()
    await page.until((session, True), (session, False))
    await page.live(session)
    await expect(page.activity("status").filter(has_text="resumed")).to_have_count(1)
    await expect(page.activity("output")).to_contain_text("You said: first")
    await page.send("second")
    await expect(page.text).to_have_text("You said: second")
    await expect(page.page.locator("[data-turn]")).to_have_count(2)


async def test_a_stale_cursor_and_generation_on_resume_replay_the_fresh_generation(
    page: SessionPage, sessions: Sessions
) -> None:
    session = await sessions.said("Stale", "[[words 40]] [[tool a]] [[tool b]] [[tool c]]")
    await page.open(session)
    await expect(page.activity("tool")).to_have_count(3)
    await sessions.matters.http.post(f"/api/sessions/{session}/resume", json={})
    await sessions.prompt(session, "after the resume")
    await expect(page.text).to_have_text("You said: after the resume", timeout=20_000)
    await expect(page.activity("output").last).to_have_text(re.compile("after the resume"))
    await expect(page.activity("prompt")).to_have_count(2)
    await expect(page.activity("tool")).to_have_count(3)
    assert await page.streams() == [(session, False)]


async def test_a_failed_resume_does_not_reconnect(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.create("No runner", adapter="absent")
    await page.open(session)
    await page.resume()
    await expect(page.page.get_by_role("alert")).to_contain_text("The session was not resumed")
    await expect(page.page.get_by_role("button", name="Resume")).to_be_enabled()
    assert await page.streams() == [(session, False)]
    await page.live(session)


async def test_a_failed_delete_of_the_active_session_keeps_its_binding(page: SessionPage, sessions: Sessions) -> None:
    active = await sessions.said("Stays", "first")
    other = await sessions.create("Goes")
    await page.open(active)

    async def refuse(route: Route) -> None:
        asked = json.loads(route.request.post_data or "{}")["ids"]
        answer = await route.fetch(post_data=json.dumps({"ids": [other]}))
        told = (await answer.json())["results"]
        assert set(asked) == {active, other}
        failed = {"id": active, "ok": False, "code": "unavailable"}
        await route.fulfill(json={"results": [failed, *told]})

    await page.page.route("**/batch_delete", refuse)
    await page.delete(active, other)
    await expect(page.page.get_by_role("alert")).to_contain_text("Stays: unavailable")
    await expect(page.page.locator(f'[data-session-row="{other}"]')).to_have_count(0)
    await expect(page.page.get_by_role("checkbox", name="Select Stays")).to_be_checked()
    await expect(page.activity("output")).to_contain_text("You said: first")
    await page.send("second")
    await expect(page.text).to_have_text("You said: second")
    assert await page.streams() == [(active, False)]


async def test_deleting_b_leaves_a_resume_of_a_valid(page: SessionPage, sessions: Sessions) -> None:
    a = await sessions.said("Is resumed", "first")
    b = await sessions.create("Is deleted")
    await page.open(a)
    release = asyncio.Event()

    async def hold(route: Route) -> None:
        await release.wait()
        await route.continue_()

    await page.page.route("**/resume", hold)
    await page.resume()
    await expect(page.page.get_by_role("button", name="Resuming…")).to_be_disabled()
    await page.delete(b)
    await expect(page.page.locator(f'[data-session-row="{b}"]')).to_have_count(0)
    assert await page.streams() == [(a, False)]
    release.set()
    await page.until((a, True), (a, False))
    await expect(page.page.get_by_role("button", name="Resume")).to_be_enabled()
    await page.live(a)


async def test_deleting_the_active_session_leaves_it(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.create("Is open and goes")
    await page.open(session)
    await page.delete(session)
    await expect(page.page).to_have_url(re.compile(r"/sessions$"))
    await page.until((session, True))


async def test_a_session_deleted_by_somebody_else_says_so(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.create("Goes under one's hands")
    await page.open(session)
    await sessions.matters.http.post("/api/sessions/batch_delete", json={"ids": [session]})
    await expect(page.page.get_by_text(re.compile("This session was deleted|There is no such session"))).to_be_visible()
    await page.until((session, True))


async def test_text_that_a_retry_discards_leaves_the_answer_and_is_struck_in_the_activity(
    page: SessionPage, sessions: Sessions
) -> None:
    session = await sessions.create("Retries")
    await page.open(session)
    await page.send("wrong [[reset]] right")
    await page.shows("idle")
    await expect(page.text).to_have_text("right")
    await expect(page.activity("output").first).to_have_attribute("data-status", "discarded")


async def test_a_reload_shows_every_turn_as_it_was_said(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.said("Reload", "first")
    await sessions.matters.http.post(f"/api/sessions/{session}/resume", json={})
    await sessions.prompt(session, "second")
    await sessions.waits(session, "idle")
    await page.open(session)
    turns = page.page.locator("[data-turn]")
    await expect(turns.locator("[data-final-text]")).to_have_text(["You said: first", "You said: second"])
    await page.page.reload()
    await expect(turns.locator("[data-final-text]")).to_have_text(["You said: first", "You said: second"])


async def test_the_event_source_is_closed_on_clean_up(page: SessionPage, sessions: Sessions) -> None:
    first = await sessions.create("First")
    second = await sessions.create("Second")
    await page.open(first)
    await page.page.locator(f'[data-session-row="{second}"]').click()
    await page.live(second)
    await page.until((first, True), (second, False))
    await page.page.get_by_role("link", name="Threads").click()
    await page.until((first, True), (second, True))


async def test_malformed_open_questions_do_not_take_the_page_down(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.create("Legacy")
    variants = ["one string", {"text": "an object"}, None, ["kept", 7, {"text": "dropped"}, None], 42]
    frames = [
        f"id: 1-{number}\nevent: gate\ndata: "
        + json.dumps(
            {
                "gate_id": f"gat_{number}",
                "kind": "phase-summary",
                "state": "open",
                "proposal": {"version": 2, "phase": f"P{number}", "summary": "So far.", "open_questions": value},
            }
        )
        for number, value in enumerate(variants, start=1)
    ]
    body = "\n\n".join(["retry: 600000", *frames, ""]) + "\n"
    await page.page.route(
        "**/stream", lambda route: route.fulfill(status=200, content_type="text/event-stream", body=body)
    )
    await page.console.page.goto(f"{page.console.url}/sessions/{session}")
    summaries = page.page.get_by_role("region", name="Phase summary")
    await expect(summaries).to_have_count(len(variants))
    await expect(summaries.nth(0).get_by_role("listitem")).to_have_text(["one string"])
    await expect(summaries.nth(3).get_by_role("listitem")).to_have_text(["kept"])
    for number in (1, 2, 4):
        await expect(summaries.nth(number).get_by_role("listitem")).to_have_count(0)
        await expect(summaries.nth(number).get_by_role("button", name="Continue")).to_be_enabled()


async def test_join_review_continue_persists_every_proposed_join(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.said("Joins", "[[join a=b:same, c=d:part_of]] done", "waiting")
    await page.open(session)
    review = page.page.get_by_role("region", name="Join review")
    await expect(review.locator("[data-join]")).to_have_count(2)
    await expect(review.locator("input, select, textarea")).to_have_count(0)
    await review.get_by_role("button", name="Continue").click()
    await expect(review).to_have_count(0)
    await expect(page.activity("gate")).to_have_attribute("data-status", "answered")
    await page.shows("idle")
    assert [len(entry["joins"]) for entry in (await sessions.read(session, "/ledger"))["entries"]] == [2]


async def test_join_review_other_persists_none(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.said("Joins", "[[join a=b:same, c=d:part_of]] done", "waiting")
    await page.open(session)
    review = page.page.get_by_role("region", name="Join review")
    await review.get_by_role("button", name="Other — specify").click()
    await expect(review.get_by_role("textbox")).to_be_focused()
    await page.page.keyboard.type("c belongs to e")
    await page.page.keyboard.press("Control+Enter")
    await expect(review).to_have_count(0)
    await page.shows("idle")
    assert (await sessions.read(session, "/ledger"))["entries"] == []
    [gate] = (await sessions.read(session, "/gates"))["gates"]
    assert gate["answer"] == {"value": "other", "text": "c belongs to e"}


async def test_choice_takes_an_option_or_other_words(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.said("Chooses", "[[gate choice red|blue|other]] [[gate choice red|blue|other]]", "waiting")
    await page.open(session)
    choice = page.page.get_by_role("region", name="Choice")
    first = await choice.get_attribute("data-gate")
    await page.console.press("g")
    await expect(choice.get_by_role("button", name="red")).to_be_focused()
    await choice.get_by_role("button", name="blue").click()
    second = page.page.locator(f'[data-gate]:not([data-gate="{first}"])')
    await second.get_by_role("button", name="Other…").click()
    await page.page.keyboard.type("green")
    await page.page.keyboard.press("Control+Enter")
    await page.shows("idle")
    answers = [gate["answer"] for gate in (await sessions.read(session, "/gates"))["gates"]]
    assert answers == [{"value": "other", "text": "green"}, {"value": "blue"}]


async def test_dialogs_are_answered(page: SessionPage, sessions: Sessions) -> None:
    session = await sessions.said("Dialogs", "[[gate confirm Sure?]] [[gate dialog Name?]]", "waiting")
    await page.open(session)
    dialog = page.page.get_by_role("region", name="Question of the agent")
    await expect(dialog).to_contain_text("Sure?")
    await dialog.get_by_role("button", name="Yes").click()
    await dialog.get_by_role("textbox", name="Name?").fill("Ada")
    await page.page.keyboard.press("Enter")
    await page.shows("idle")
    answers = [gate["answer"] for gate in (await sessions.read(session, "/gates"))["gates"]]
    assert answers == [{"value": "Ada"}, {"confirmed": True}]


async def test_the_layout_switch_is_hidden_for_one_block(page: SessionPage, sessions: Sessions) -> None:
    one = await sessions.said("One block", "It is\n\n```sql\nSELECT 1\n```")
    await page.open(one)
    viewer = page.page.get_by_role("region", name="SQL", exact=True)
    await expect(viewer).to_contain_text("SELECT 1")
    await expect(viewer.get_by_role("group", name="Layout")).to_have_count(0)
    await sessions.prompt(one, "Both\n\n```sql\nSELECT 1\n```\n\n```sql\nSELECT 2\n```")
    several = viewer.nth(1)
    await several.get_by_role("group", name="Layout").get_by_role("button", name="Horizontal").click()
    await expect(several).to_have_attribute("data-layout", "horizontal")
    await expect(several.locator("figure")).to_have_count(2)


async def test_a_session_is_started_with_the_keyboard_and_its_thinking_is_kept(
    page: SessionPage, sessions: Sessions
) -> None:
    await page.console.goto("/sessions")
    await page.console.press("n")
    dialog = page.page.get_by_role("dialog")
    await page.page.keyboard.type("By hand")
    await dialog.get_by_label("Model").fill("faux-1")
    await dialog.get_by_label("Thinking").select_option("high")
    await page.page.keyboard.press("Control+Enter")
    await expect(page.page.get_by_role("heading", name="By hand")).to_be_visible()
    await expect(page.page.get_by_role("textbox", name="Prompt")).to_be_focused()
    found = await sessions.read(page.page.url.rsplit("/", 1)[1])
    assert (found["title"], found["model"], found["thinking"]) == ("By hand", "faux-1", "high")


async def test_a_phone_shows_a_session_without_a_horizontal_scroll(windows: Windows, sessions: Sessions) -> None:
    long = "x" * 300
    session = await sessions.said(
        "T" * 150, f"{long} `{long}`\n\n```sql\n{long}\n```\n[[join {long}=b:same]]", "waiting"
    )
    phone = await windows.open(f"/sessions/{session}", width=390, height=844)
    await expect(phone.page.get_by_role("region", name="Join review")).to_be_visible()
    assert await phone.overflow() == 0
    await phone.page.get_by_role("button", name="Activity").click()
    await expect(phone.page.get_by_role("log", name="Activity")).to_be_visible()
    await phone.page.get_by_role("button", name="The agent asks something. Show it").click()
    await expect(phone.page.get_by_role("region", name="Join review")).to_be_visible()
    assert await phone.overflow() == 0
