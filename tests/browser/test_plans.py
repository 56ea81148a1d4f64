"""The plan panel and branches (design/gateway.md, Console; design/planning.md)."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.console import Console, Windows
from tests.browser.matters import Matters
from tests.browser.plans import Panel, Plans
from tests.browser.sessions import Sessions

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture
def plans(matters: Matters) -> Plans:
    """Everybody else."""
    return Plans(Sessions(matters))


@pytest.fixture
def panel(console: Console) -> Panel:
    """The page under test."""
    return Panel(console)


async def test_the_objective_is_written_and_who_was_faster_is_told(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("Objective")
    await panel.open(session)
    await panel.write("Weave a  scarf")
    await panel.console.press("Enter")
    await expect(panel.objective).to_have_text("Weave a scarf")
    await panel.write("Weave a shawl")
    await plans.objective(session, "Weave a blanket")
    notice = panel.panel.get_by_role("alert")
    await expect(notice).to_contain_text("It was changed while you wrote")
    await expect(notice).to_contain_text("Weave a blanket")
    await expect(panel.panel.get_by_role("button", name="Save")).to_be_disabled()
    await notice.get_by_role("button", name="Keep mine").click()
    await panel.panel.get_by_role("button", name="Save").click()
    await expect(panel.objective).to_have_text("Weave a shawl")
    assert (await plans.sessions.read(session, "/objective"))["text"] == "Weave a shawl"


async def test_a_412_that_came_before_the_feed_is_told_the_same(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("412")
    await panel.page.route("**/api/stream*", lambda route: route.abort())
    await panel.page.goto(f"{panel.console.url}/sessions/{session}")
    await panel.session.live(session)
    await panel.page.get_by_role("button", name="Plan", exact=True).click()
    await panel.write("mine")
    await plans.objective(session, "theirs")
    await panel.console.press("Enter")
    await expect(panel.panel.get_by_role("alert")).to_contain_text("theirs")
    await panel.panel.get_by_role("button", name="Take theirs").click()
    await expect(panel.objective).to_have_text("theirs")


async def test_steps_are_added_ticked_edited_and_removed_and_leaves_count(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("Steps")
    await panel.open(session)
    await expect(panel.panel).to_contain_text("No steps yet")
    box = panel.panel.get_by_role("textbox", name="Add steps", exact=True)
    await box.fill("warp\nweave\nfinish")
    await box.press("Enter")
    await panel.shows("1 warp", "2 weave", "3 finish")
    await panel.step("2").get_by_role("button", name="What to do with step 2").click()
    await panel.page.get_by_role("menuitem", name="Add steps below it").click()
    await panel.panel.get_by_role("textbox", name="Add steps under 2").fill("hem\nbody")
    await panel.console.press("Enter")
    await panel.shows("1 warp", "2 weave", "2.1 hem", "2.2 body", "3 finish")
    await panel.step("2.1").get_by_role("checkbox").check()
    await expect(panel.panel.locator("[data-progress]")).to_have_text("1 of 4 done")
    await expect(panel.step("2")).to_contain_text("1/2")
    await expect(panel.step("2").get_by_role("checkbox")).to_have_count(0)
    await panel.press("2.2", "Space")
    await expect(panel.step("2")).to_have_attribute("data-done", "true")
    await panel.press("3", "Enter")
    await panel.panel.get_by_role("textbox", name="Text of step 3").fill("finish <b>it</b>")
    await panel.console.press("Enter")
    await panel.shows("1 warp", "2 weave", "2.1 hem", "2.2 body", "3 finish <b>it</b>")
    await panel.press("2", "Delete")
    dialog = panel.page.get_by_role("dialog", name="Remove step 2?")
    await expect(dialog).to_contain_text("the 2 steps under it")
    await dialog.get_by_role("button", name="Remove").click()
    await panel.shows("1 warp", "2 finish <b>it</b>")


async def test_a_step_moves_with_all_under_it_by_keys(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("Keys")
    await plans.add(session, "a", "b", "c")
    await plans.add(session, "b1", under=2)
    await panel.open(session)
    await panel.shows("1 a", "2 b", "2.1 b1", "3 c")
    await panel.press("2", "Alt+ArrowUp")
    await panel.shows("1 b", "1.1 b1", "2 a", "3 c")
    await expect(panel.step("1")).to_be_focused()
    await panel.press("3", "Alt+ArrowRight")
    await panel.shows("1 b", "1.1 b1", "2 a", "2.1 c")
    await panel.press("1.1", "Alt+ArrowLeft")
    await panel.shows("1 b", "2 b1", "3 a", "3.1 c")
    await panel.press("3", "Alt+ArrowUp", "ArrowUp")
    await panel.shows("1 b", "2 a", "2.1 c", "3 b1")


async def test_keys_that_come_faster_than_answers_all_count(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("Fast")
    await plans.add(session, "a", "b", "c", "d")
    await panel.open(session)
    await panel.shows("1 a", "2 b", "3 c", "4 d")
    await panel.press("4", "Alt+ArrowUp", "Alt+ArrowUp", "Alt+ArrowUp", "Alt+ArrowUp")
    await panel.shows("1 d", "2 a", "3 b", "4 c")
    await panel.press("1", "Space", "ArrowDown", "Space", "ArrowDown", "Space")
    await expect(panel.panel.locator("[data-progress]")).to_have_text("3 of 4 done")
    await expect(panel.panel.get_by_role("alert")).to_have_count(0)


async def test_a_step_moves_with_all_under_it_by_its_handle(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("Drags")
    await plans.add(session, "a", "b", "c")
    await plans.add(session, "a1", under=1)
    await panel.open(session)
    await panel.shows("1 a", "1.1 a1", "2 b", "3 c")
    await panel.drag("1", "3", 0.9)
    await panel.shows("1 b", "2 c", "3 a", "3.1 a1")
    await panel.drag("3", "1", 0.5)
    await panel.shows("1 b", "1.1 a", "1.1.1 a1", "2 c")
    await panel.drag("2", "1", 0.1)
    await panel.shows("1 c", "2 b", "2.1 a", "2.1.1 a1")
    assert await plans.texts(session) == ["1 c", "2 b", "2.1 a", "2.1.1 a1"]


async def test_the_plan_is_live_and_a_move_while_the_agent_works_is_refused_in_a_sentence(
    panel: Panel, plans: Plans
) -> None:
    session = await plans.sessions.create("Live")
    await panel.open(session)
    await plans.sessions.prompt(session, "[[plan one | two]] [[done 1]] [[objective Count]] [[slow 60s]]")
    await panel.shows("1 one", "2 two")
    await expect(panel.step("1")).to_have_attribute("data-done", "true")
    await expect(panel.objective).to_have_text("Count")
    await panel.press("2", "Alt+ArrowUp")
    await expect(panel.panel.get_by_role("alert")).to_contain_text("The agent is at work")
    await panel.shows("1 one", "2 two")
    await panel.page.get_by_role("button", name="Abort").click()
    await panel.session.shows("idle")
    await panel.press("2", "Alt+ArrowUp")
    await panel.shows("1 two", "2 one")


async def test_continue_from_here_opens_a_branch_with_everything_as_it_was(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.said("Origin", "first")
    await plans.objective(session, "then")
    await plans.add(session, "a", "b")
    await plans.sessions.prompt(session, "second")
    await plans.sessions.waits(session, "idle")
    await plans.objective(session, "now")
    await plans.toggle(session, 1)
    await panel.open(session)
    turns = panel.page.locator("[data-turn]")
    await turns.first.get_by_role("button", name="Continue from here").click()
    banner = panel.page.get_by_role("complementary", name="What this is a branch of")
    await expect(banner).to_contain_text("Branch of Origin after turn 1")
    await expect(panel.page).not_to_have_url(re.compile(session))
    await expect(turns).to_have_count(1)
    await expect(panel.session.text).to_have_text("You said: first")
    await panel.page.get_by_role("button", name="Plan", exact=True).click()
    await expect(panel.objective).to_have_text("then")
    await panel.shows("1 a", "2 b")
    await expect(panel.panel.locator("[data-progress]")).to_have_text("0 of 2 done")
    await panel.session.send("other way")
    await expect(panel.session.text).to_have_text("You said: other way", timeout=20_000)
    branch = panel.page.url
    await banner.get_by_role("link", name="Origin").click()
    await panel.session.live(session)
    await expect(turns).to_have_count(2)
    await plans.sessions.matters.http.post("/api/sessions/batch_delete", json={"ids": [session]})
    await panel.page.goto(branch)
    await expect(banner).to_contain_text("Branch of a session that has been deleted after turn 1")
    await expect(banner.get_by_role("link")).to_have_count(0)


async def test_branches_are_drawn_compared_and_picked_from(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.said("Trunk", "first")
    await plans.add(session, "a", "b")
    await plans.sessions.prompt(session, "second")
    await plans.sessions.waits(session, "idle")
    branch = await plans.branch(session, 1)
    await plans.add(branch, "only there")
    await plans.toggle(branch, 1)
    await plans.objective(branch, "another aim")
    await plans.sessions.prompt(branch, "elsewhere")
    await plans.sessions.waits(branch, "idle")
    await panel.open(session)
    await panel.page.get_by_role("button", name="Branches…").click()
    dialog = panel.page.get_by_role("dialog")
    await expect(dialog.locator("[data-node]")).to_have_count(3)
    await expect(dialog.locator("svg circle")).to_have_count(3)
    await expect(dialog).to_contain_text("this session")
    await expect(dialog).to_contain_text("1 of 3 done · another aim")
    await dialog.get_by_role("button", name="Compare with Trunk").click()
    await expect(dialog.locator("[data-change]")).to_have_count(3)
    await expect(dialog.locator('[data-change="added"]')).to_contain_text("only there")
    await expect(dialog.locator('[data-change="toggled"]')).to_contain_text("done there")
    await dialog.locator('[data-change="added"]').get_by_role("checkbox").check()
    await dialog.locator('[data-change="objective"]').get_by_role("checkbox").check()
    await dialog.get_by_role("button", name="Take over").click()
    await expect(dialog.get_by_role("status")).to_contain_text("Taken over")
    await expect(dialog.locator("[data-change]")).to_have_count(1)
    await panel.console.press("Escape")
    await panel.shows("1 a", "2 b", "3 only there")
    await expect(panel.objective).to_have_text("another aim")


async def test_a_document_is_written_locked_and_a_later_writer_is_told(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("Documents")
    await panel.open(session)
    await panel.page.get_by_role("button", name="New document…").click()
    dialog = panel.page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Key").fill("notes.md")
    await dialog.get_by_role("textbox", name="Content").fill("first")
    await panel.console.press("Control+Enter")
    await expect(dialog).to_have_count(0)
    entry = panel.panel.locator('[data-document="notes.md"]')
    await entry.get_by_role("switch").click()
    await expect(entry.get_by_role("switch")).to_have_attribute("aria-checked", "true")
    await entry.get_by_role("button", name="notes.md").first.click()
    await expect(dialog.get_by_role("textbox", name="Content")).to_have_value("first")
    await expect(dialog).to_contain_text("Locked")
    await dialog.get_by_role("textbox", name="Content").fill("mine")
    await plans.call("PUT", f"/api/sessions/{session}/documents/notes.md", {"content": "theirs"})
    await expect(dialog.get_by_role("alert")).to_contain_text("It was changed while you wrote")
    await dialog.get_by_role("button", name="Keep mine").click()
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    assert (await plans.sessions.read(session, "/documents/notes.md"))["content"] == "mine"


async def test_a_document_is_deleted_after_a_question_and_not_where_it_changed_meanwhile(
    panel: Panel, plans: Plans
) -> None:
    session = await plans.sessions.create("Documents that go")
    for key in ("notes.md", "kept.md"):
        await plans.call("PUT", f"/api/sessions/{session}/documents/{key}", {"content": "first"})
    await panel.open(session)
    entry = panel.panel.locator('[data-document="notes.md"]')
    await entry.get_by_role("button", name="notes.md").first.click()
    await panel.page.get_by_role("button", name="Delete…").click()
    asked = panel.page.get_by_role("dialog", name="Delete notes.md?")
    await asked.get_by_role("button", name="Keep it").click()
    await expect(asked).to_have_count(0)
    await panel.page.get_by_role("button", name="Delete…").click()
    await asked.get_by_role("button", name="Delete").click()
    await expect(panel.page.get_by_role("dialog")).to_have_count(0)
    await expect(entry).to_have_count(0)
    await expect(panel.panel.locator('[data-document="kept.md"]')).to_have_count(1)
    listed = (await plans.sessions.read(session, "/documents"))["documents"]
    assert [one["key"] for one in listed] == ["kept.md"]


async def test_what_the_agent_was_told_of_objective_and_plan_stands_with_its_turn(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("Told of its plan")
    await plans.objective(session, "Weave a scarf")
    await plans.add(session, "Dress the loom")
    await plans.sessions.prompt(session, "go on")
    await plans.sessions.waits(session, "idle")
    await plans.add(session, "Added since")
    stored = await plans.sessions.read(session, "/plan/context?turn=1")
    await panel.open(session)
    await panel.page.locator("[data-turn]").get_by_role("button", name="What the agent was told").click()
    dialog = panel.page.get_by_role("dialog", name="What the agent was told")
    await expect(dialog.get_by_role("region", name="Of objective and plan")).to_contain_text(stored["sha256"])
    await expect(dialog.locator("[data-told]")).to_have_text(stored["text"], use_inner_text=False)
    await expect(dialog).not_to_contain_text("Added since")


async def test_a_step_that_cannot_be_taken_over_alone_is_named_and_nothing_is(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.said("Here", "first")
    branch = await plans.branch(session, 1)
    await plans.add(branch, "seams", "other")
    await plans.add(branch, "hem", under=1)
    await panel.open(session)
    await panel.page.get_by_role("button", name="Branches…").click()
    dialog = panel.page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Compare with Here").click()
    for name in ("hem", "other"):
        await dialog.locator("[data-change]").filter(has_text=name).get_by_role("checkbox").check()
    await dialog.get_by_role("button", name="Take over").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("“hem”: its parent is not in this plan")
    await expect(panel.panel.locator("[data-step]")).to_have_count(0)
    await dialog.locator("[data-change]").filter(has_text="seams").get_by_role("checkbox").check()
    await dialog.get_by_role("button", name="Take over").click()
    await expect(dialog).to_contain_text("are the same in both")
    await panel.console.press("Escape")
    await panel.shows("1 seams", "1.1 hem", "2 other")


async def test_what_was_written_is_not_thrown_away_by_a_slip(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.said("Slips", "first")
    other = await plans.sessions.create("Elsewhere")
    await panel.open(session)
    await panel.page.locator("[data-prompt]").fill("not sent yet")
    await panel.page.locator(f'[data-session-row="{other}"]').click()
    await panel.session.live(other)
    await expect(panel.page.locator("[data-prompt]")).to_have_value("")
    await panel.page.locator(f'[data-session-row="{session}"]').click()
    await panel.session.live(session)
    await expect(panel.page.locator("[data-prompt]")).to_have_value("not sent yet")
    await panel.page.get_by_role("button", name="Plan", exact=True).click()
    await panel.page.get_by_role("button", name="New document…").click()
    dialog = panel.page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Content").fill("long work")
    await panel.page.mouse.click(5, 5)
    await panel.console.press("Escape")
    await expect(dialog.get_by_role("alert")).to_contain_text("What you wrote is not kept")
    await dialog.get_by_role("button", name="Go on writing").click()
    await expect(dialog.get_by_role("textbox", name="Content")).to_have_value("long work")
    await panel.console.press("Escape")
    await dialog.get_by_role("button", name="Throw it away").click()
    await expect(dialog).to_have_count(0)


async def test_what_was_done_to_a_plan_is_taken_back_the_last_first(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("Undo")
    await plans.add(session, "a", "b", "c")
    await plans.add(session, "a1", "a2", under=1)
    await panel.open(session)
    whole = ("1 a", "1.1 a1", "1.2 a2", "2 b", "3 c")
    await panel.shows(*whole)
    undo = panel.panel.get_by_role("button", name="Undo")
    await expect(undo).to_have_count(0)
    await panel.step("1.1").get_by_role("checkbox").check()
    await panel.press("1.1", "Delete")
    await panel.shows("1 a", "1.1 a2", "2 b", "3 c")
    await panel.press("1.1", "Alt+ArrowLeft")
    await panel.shows("1 a", "2 a2", "3 b", "4 c")
    await panel.press("3", "Enter")
    await panel.panel.get_by_role("textbox", name="Text of step 3").fill("other")
    await panel.console.press("Enter")
    await panel.shows("1 a", "2 a2", "3 other", "4 c")
    await undo.click()
    await panel.shows("1 a", "2 a2", "3 b", "4 c")
    await undo.click()
    await panel.shows("1 a", "1.1 a2", "2 b", "3 c")
    await undo.click()
    await panel.shows(*whole)
    await expect(panel.step("1.1")).to_have_attribute("data-done", "true")
    await expect(undo).to_have_count(0)
    await panel.press("2", "Space")
    await expect(undo).to_have_text("Undo: done")
    await panel.press("3", "Control+z")
    await expect(panel.step("2")).to_have_attribute("data-done", "false")
    await expect(undo).to_have_count(0)
    assert await plans.texts(session) == list(whole)


async def test_a_refusal_is_seen_where_the_plan_is_long(panel: Panel, plans: Plans) -> None:
    session = await plans.sessions.create("Long and busy")
    await plans.add(session, *(f"step {number}" for number in range(45)))
    await panel.open(session)
    await plans.sessions.prompt(session, "[[slow 60s]]")
    await panel.session.shows("running")
    await panel.step("20").scroll_into_view_if_needed()
    await panel.press("20", "Alt+ArrowUp")
    alert = panel.panel.get_by_role("alert")
    await expect(alert).to_contain_text("The agent is at work")
    await expect(alert).to_be_in_viewport(ratio=0.9)
    await panel.page.get_by_role("button", name="Abort").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_panel_fits_a_phone(windows: Windows, plans: Plans, scheme: str, shots: object) -> None:
    session = await plans.sessions.said("A plan on a phone", "first")
    await plans.objective(session, "An objective that is long enough to need two lines at this width")
    await plans.add(session, "Dress the loom", "Weave", "Finish the edges and wash it carefully in cold water")
    await plans.add(session, "Wind the warp", "Thread the heddles " + "x" * 200, under=1)
    await plans.toggle(session, 2)
    await plans.branch(session, 1)
    console = await windows.open(width=390, height=844, scheme=scheme, touch=True)  # type: ignore[arg-type]
    panel = Panel(console)
    await panel.open(session)
    await expect(panel.panel.locator("[data-step]")).to_have_count(5)
    assert await console.overflow() == 0
    await panel.page.screenshot(path=f"{shots}/plan-{scheme}-390.png")
    await panel.step("2").get_by_role("button", name="What to do with step 2").click()
    await panel.page.get_by_role("menuitem", name="Move up").click()
    await expect(panel.step("1")).to_contain_text("Weave")
    await panel.page.get_by_role("button", name="Branches…").click()
    await expect(panel.page.get_by_role("dialog").locator("[data-node]")).to_have_count(2)
    assert await console.overflow() == 0
    await panel.page.screenshot(path=f"{shots}/branches-{scheme}-390.png")
