"""The scripted agent with tools: directives, the rule that needs none, and how a worker answers (C.6, C.7, P.5)."""

from __future__ import annotations

import asyncio

import pytest

from services.runner.domain.agent import AgentTask, Outcome, Tool, ToolStatus, TurnFailure, Usage
from services.runner.sessions.scripted.agent import Scripted
from services.runner.sessions.scripted.brackets import pairs, parted
from services.runner.sessions.scripted.team import Brief, Spawn, asked_for, coordinates, works
from tests.fakes.toolbox import FakeToolbox, team
from tests.unit.runner.sessions.heard import Heard

COORDINATOR = "## Thread mode — coordinator\n\nWorker threads: 0."
WORKER = "## Your thread assignment\n\nYou are the worker thread `a` of a coordinator."


async def told(prompt: str, toolbox: FakeToolbox, context: str = "") -> Heard:
    heard = Heard()
    agent = Scripted(0, toolbox).open(AgentTask("ses_1", "", "m", "medium", None, "token-1"), heard.emit)
    await agent.start()
    await agent.prompt(prompt, context, "trn_1")
    await heard.settled()
    await agent.stop()
    return heard


async def test_directives_call_tools_which_are_shown() -> None:
    toolbox = team()
    heard = await told("[[spawn a: Read A | b: Read B]] [[wait all 30s]] [[collect all]]", toolbox)
    assert toolbox.calls[0] == (
        "thread_spawn",
        {"threads": [{"name": "a", "brief": "Read A"}, {"name": "b", "brief": "Read B"}]},
    )
    assert toolbox.calls[1] == ("thread_wait", {"mode": "all", "timeout_seconds": 30})
    assert [name for name, _ in toolbox.calls[2:]] == ["thread_collect", "thread_collect"]
    assert (await heard.settled()).text == "### a (succeeded)\n\nResult of a\n\n### b (succeeded)\n\nResult of b"
    assert [(tool.name, tool.status) for tool in heard.of(Tool)][:2] == [
        ("thread_spawn", ToolStatus.RUNNING),
        ("thread_spawn", ToolStatus.COMPLETED),
    ]
    assert (toolbox.tokens, toolbox.turns) == (["token-1"], ["trn_1"])


@pytest.mark.parametrize(
    ("directive", "call"),
    [
        ("[[wait any]]", ("thread_wait", {"mode": "any", "timeout_seconds": 60})),
        ("[[wait 2 5s]]", ("thread_wait", {"mode": "quorum", "timeout_seconds": 5, "n": 2})),
        ("[[collect a]]", ("thread_collect", {"thread_name": "a"})),
        ("[[cancel a]]", ("thread_cancel", {"thread_name": "a"})),
        ("[[note look here]]", ("thread_note", {"note": "look here"})),
        ("[[note a: look here]]", ("thread_note", {"thread_name": "a", "note": "look here"})),
        ("[[objective Sell bread]]", ("set_objective", {"text": "Sell bread"})),
        ("[[plan one | two]]", ("add_todos", {"items": ["one", "two"]})),
        ("[[plan 1: a | b]]", ("add_todos", {"parent_index": 1, "items": ["a", "b"]})),
        ("[[done 1 3]]", ("toggle_todos", {"indices": [1, 3], "done": True})),
        ("[[undone 2]]", ("toggle_todos", {"indices": [2], "done": False})),
        ("[[edit 2: other]]", ("edit_todos", {"edits": [{"index": 2, "text": "other"}]})),
        ("[[remove 1 2]]", ("remove_todos", {"indices": [1, 2]})),
    ],
)
async def test_each_directive_is_one_call(directive: str, call: tuple[str, object]) -> None:
    toolbox = team()
    heard = await told(directive, toolbox)
    assert toolbox.calls == [call]
    assert (await heard.settled()).end is Outcome.OK


async def test_roster_plan_and_context_become_part_of_the_answer() -> None:
    heard = await told("[[spawn a: x]] [[status]] [[plan]] [[context]]", team(), COORDINATOR)
    assert (await heard.settled()).text == f"- a: running\n\n1 [x] one\n2 [ ] two\n\n{COORDINATOR}"


async def test_a_proposal_is_made_by_name_and_json_and_what_became_of_it_is_told() -> None:
    toolbox = team()
    toolbox.handlers["propose_action"] = lambda arguments: {"thread_id": "thr_1", "proposal_id": "prp_1", "hint": "h"}
    told_of = {"title": "Call them", "state": "dismissed", "decision": "reject"}
    toolbox.handlers["proposal_status"] = lambda arguments: {"proposals": [told_of, {"title": "x", "state": "done"}]}
    words = '[[propose task_create {"urgency": "low", "task_text": " Call\\n them"}]] [[proposals]]'
    heard = await told(words, toolbox)
    parameters = {"urgency": "low", "task_text": " Call\n them"}
    assert toolbox.of("propose_action") == [
        {"title": "low", "capability_name": "task_create", "parameters": parameters}
    ]
    said = "I proposed it; it waits for a person.\n\n- Call them: dismissed (reject)\n- x: done"
    assert (await heard.settled()).text == said


@pytest.mark.parametrize(
    "words", ["[[propose]]", "[[propose x]]", "[[propose x {]]", "[[propose X {}]]", "[[propose x []]]"]
)
async def test_what_is_no_proposal_stays_in_the_text(words: str) -> None:
    toolbox = team()
    assert words in (await (await told(words, toolbox)).settled()).text
    assert toolbox.calls == []


async def test_a_worker_reports_under_its_own_name() -> None:
    toolbox = team()
    await told("[[report half of it]]", toolbox, WORKER)
    assert toolbox.calls[-1] == ("thread_report", {"thread_name": "me", "text": "half of it"})


async def test_a_refusal_is_told_and_the_turn_goes_on() -> None:
    toolbox = team()
    refusal = {"ok": False, "error": {"code": "no_live_turn", "message": "needs a live turn"}}
    toolbox.handlers["thread_spawn"] = lambda arguments: refusal
    heard = await told("[[spawn a: x]] Next.", toolbox)
    assert (await heard.settled()).text == "thread_spawn was refused: needs a live turn\n\nNext."
    assert heard.of(Tool)[-1].status is ToolStatus.FAILED


async def test_what_stands_in_brackets_in_a_brief_happens_in_the_worker() -> None:
    toolbox = team()
    await told("[[spawn a: [[slow 2s]] Read | b: [[gate choice x|y]]]]", toolbox)
    (call,) = toolbox.of("thread_spawn")
    assert call["threads"] == [
        {"name": "a", "brief": "[[slow 2s]] Read"},
        {"name": "b", "brief": "[[gate choice x|y]]"},
    ]


async def test_parallel_work_as_a_list_is_spread_without_being_asked_how() -> None:
    toolbox = team({"rye": {"status": "failed", "reason": "timeout", "partial": True, "result": "so far"}})
    prompt = "Compare these in parallel:\n- Wheat & Co\n- Rye\n- [[slow 1s]] Oat"
    heard = await told(prompt, toolbox, COORDINATOR)
    (call,) = toolbox.of("thread_spawn")
    assert [one["name"] for one in call["threads"]] == ["wheat-co", "rye", "oat"]
    assert call["threads"][2]["brief"].startswith("[[slow 1s]] Oat\n\nIt is part of this request: Compare these")
    assert toolbox.of("thread_wait")[0]["names"] == ["wheat-co", "rye", "oat"]
    text = (await heard.settled()).text
    assert "### wheat-co (succeeded)\n\nResult of wheat-co" in text
    assert "### rye (failed: timeout, partial)\n\nso far" in text


async def test_names_that_are_taken_get_a_number() -> None:
    toolbox = team()
    prompt = "In parallel:\n1. Wheat\n2. Wheat\n3. Rye"
    await told(prompt, toolbox, COORDINATOR)
    await told(prompt, toolbox, COORDINATOR)
    assert toolbox.of("thread_wait")[0]["names"] == ["wheat", "wheat-2", "rye"]
    assert toolbox.of("thread_wait")[1]["names"] == ["wheat-3", "wheat-2-2", "rye-2"]


async def test_a_wait_that_is_not_over_is_waited_on() -> None:
    toolbox = team()
    left = [3]

    def wait(arguments: dict[str, object]) -> dict[str, object]:
        left[0] -= 1
        return {"done": {"satisfied": left[0] <= 0, "ended": 0, "waited_for": 2}}

    toolbox.handlers["thread_wait"] = wait
    await told("In parallel:\n- a\n- b", toolbox, COORDINATOR)
    assert len(toolbox.of("thread_wait")) == 3


@pytest.mark.parametrize(
    ("prompt", "context"),
    [
        ("Compare in parallel:\n- a\n- b", ""),
        ("Compare in parallel:\n- a\n- b", WORKER),
        ("Compare:\n- a\n- b", COORDINATOR),
        ("Compare in parallel: a, b", COORDINATOR),
        ("In parallel:\n- a", COORDINATOR),
        ("Good morning", COORDINATOR),
    ],
)
async def test_everything_else_is_answered_directly(prompt: str, context: str) -> None:
    toolbox = team()
    heard = await told(prompt, toolbox, context)
    assert toolbox.calls == []
    assert (await heard.settled()).text.startswith("You said: ")


async def test_woken_by_results_it_collects_them() -> None:
    toolbox = team()
    wake = "[Treadle] Worker results are in: alpha (succeeded), beta (failed: timeout). Collect them and go on."
    heard = await told(wake, toolbox, COORDINATOR)
    assert toolbox.of("thread_collect") == [{"thread_name": "alpha"}, {"thread_name": "beta"}]
    assert "Result of alpha" in (await heard.settled()).text


async def test_a_worker_ends_with_its_result() -> None:
    heard = await told("Read the  file", team(), WORKER)
    assert (await heard.settled()).text == "You said: Read the  file\n\n## Result\n\nDone: Read the file"
    heard = await told("[[tool bash]] Read [[think hm]] it", team(), WORKER)
    assert (await heard.settled()).text == "Read\n\nit\n\n## Result\n\nDone: Read it"


@pytest.mark.parametrize(
    ("brief", "end", "text"),
    [
        ("Half [[fail]] done", TurnFailure.PROVIDER_ERROR, "Half"),
        ("Half [[cut]] done", Outcome.TRUNCATED, "Half"),
        ("[[words 3]]", Outcome.OK, "word1 word2 word3"),
        ("## Result\nmine", Outcome.OK, "You said: ## Result\nmine"),
    ],
)
async def test_a_worker_that_says_or_ends_otherwise_adds_none(brief: str, end: object, text: str) -> None:
    settled = await (await told(brief, team(), WORKER)).settled()
    assert (settled.end, settled.text) == (end, text)


async def test_results_of_many_pages_are_read_to_the_end() -> None:
    toolbox = team()
    pages = {"": ("one ", "p2"), "p2": ("two ", "p3"), "p3": ("three", "")}

    def collect(arguments: dict[str, str]) -> dict[str, object]:
        text, following = pages[arguments.get("page_token", "")]
        return {"status": "succeeded", "result": text, "next_page_token": following, "version": 4}

    toolbox.handlers["thread_collect"] = collect
    heard = await told("[[collect a]]", toolbox)
    assert (await heard.settled()).text == "### a (succeeded)\n\none two three"
    assert toolbox.of("thread_collect")[1:] == [
        {"thread_name": "a", "version": 4, "page_token": token} for token in ("p2", "p3")
    ]


async def test_an_abort_in_a_call_ends_the_tool() -> None:
    toolbox = team()
    toolbox.hanging.add("thread_wait")
    heard = Heard()
    agent = Scripted(0, toolbox).open(AgentTask("ses_1", "", "m", "medium"), heard.emit)
    await agent.start()
    await agent.prompt("[[wait all 300s]]")
    async with asyncio.timeout(60):
        await toolbox.called.wait()
    await agent.abort()
    assert (await heard.settled()).end is Outcome.ABORTED
    assert [tool.status for tool in heard.of(Tool)] == [ToolStatus.RUNNING, ToolStatus.FAILED]
    await agent.stop()


def test_roles_are_read_from_headings_alone() -> None:
    assert coordinates(COORDINATOR)
    assert works(WORKER)
    assert not coordinates(WORKER)
    assert not coordinates("I am no ## Thread mode — coordinator")
    assert not coordinates(f"{COORDINATOR}\n\n{WORKER}")


def test_a_brief_that_would_be_too_long_has_no_request_behind_it() -> None:
    item = "x" * 3_990
    spawn = asked_for(f"In parallel, please:\n- {item}\n- b", COORDINATOR)[0]
    assert isinstance(spawn, Spawn)
    assert spawn.briefs[0] == Brief("x" * 40, item)


def test_brackets_pair_from_the_inside_and_parts_know_them() -> None:
    assert list(pairs("a [[b [[c]] d]] [[ e")) == [(2, 15), (6, 11)]
    assert list(pairs("]] [[x]]")) == [(3, 8)]
    assert parted("a | [[b|c]] d || e") == ["a", "[[b|c]] d", "e"]


async def test_a_word_is_a_token() -> None:
    heard = await told("[[words 5]] and two", team(), "three words more")
    assert (await heard.settled()).usage == Usage(7, 7)
