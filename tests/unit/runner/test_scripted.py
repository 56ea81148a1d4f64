"""The rule table of the scripted provider (services/runner/providers/scripted.py)."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from services.runner.domain.failure import Code, Failed
from services.runner.domain.task import Feedback, Item, Offer, PriorProposal, Target
from services.runner.providers.scripted import Scripted
from tests.unit.runner.tasks import infer

HOURS = PriorProposal("file_append", {"path": "hours.md", "text": "Mon-Fri 9-17"})
CALL = PriorProposal("http_request", {"method": "GET", "url": "http://localhost:1/x"})
TASK = PriorProposal("task_create", {"task_text": "Book the room"})


async def propose(**given: Any) -> dict[str, Any]:
    return dict((await Scripted().infer(infer(**given))).payload)


@pytest.mark.parametrize(
    ("title", "description", "name", "parameters"),
    [
        # append + a file name
        ("Append the new hours to hours.md", "Mon-Fri 9-17", "file_append",
         {"path": "hours.md", "text": "Mon-Fri 9-17"}),
        ("Append the rota to rota.txt", "", "file_append", {"path": "rota.txt", "text": "the rota"}),
        ("Add to log.csv: 2031-01-02,7", "", "file_append", {"path": "log.csv", "text": "2031-01-02,7"}),
        ('Append "Water the plants" to notes.md', "", "file_append", {"path": "notes.md", "text": "Water the plants"}),
        ("Note that the loom is oiled", "Append it to loom/care.md", "file_append",
         {"path": "loom/care.md", "text": "Note that the loom is oiled"}),
        ('Save "x" in `my notes.md`', "", "file_append", {"path": "my notes.md", "text": "x"}),
        ("Append „Übermorgen“ to größe.md", "", "file_append", {"path": "größe.md", "text": "Übermorgen"}),
        ("Note the meeting", "append to notes.md: it is on Tuesday [[slow 1ms]]", "file_append",
         {"path": "notes.md", "text": "it is on Tuesday"}),
        ("Rota", "Please read.\nadd the new rota to rota.md", "file_append",
         {"path": "rota.md", "text": "the new rota"}),
        ("Append to long.md something", "Append to long.md: all of it", "file_append",
         {"path": "long.md", "text": "all of it"}),
        ("Append to long.md something", "", "file_append", {"path": "long.md", "text": "something"}),
        ("Rota", "append to rota.md: one\ntwo", "file_append", {"path": "rota.md", "text": "one\ntwo"}),
        ("Rota", "Write this down in rota.md\nTuesday", "file_append", {"path": "rota.md", "text": "Tuesday"}),
        ("Append x to ../secret.txt", "", "file_append", {"path": "../secret.txt", "text": "x"}),
        ("Append x to /etc/motd.txt", "", "file_append", {"path": "/etc/motd.txt", "text": "x"}),
        ("Append https://a.example/b.md to links.md", "", "file_append",
         {"path": "links.md", "text": "https://a.example/b.md"}),
        # a URL
        ("Check http://localhost:8080/healthz.", "", "http_request",
         {"method": "GET", "url": "http://localhost:8080/healthz"}),
        ('POST "on" to http://127.0.0.1:9/light', "", "http_request",
         {"method": "POST", "url": "http://127.0.0.1:9/light", "body": "on"}),
        ("Look at example.com", "see (https://example.com/a?b=1)", "http_request",
         {"method": "GET", "url": "https://example.com/a?b=1"}),
        # else a task
        ("Call the weaver", "About the warp, by 2031-05-04.", "task_create",
         {"task_text": "Call the weaver", "summary": "About the warp, by 2031-05-04.", "deadline_date": "2031-05-04"}),
        ("Read notes.md", "", "task_create", {"task_text": "Read notes.md"}),
        ("Remind me to append x to notes.md", "", "task_create", {"task_text": "Remind me to append x to notes.md"}),
        ("Write to shop@example.txt", "", "task_create", {"task_text": "Write to shop@example.txt"}),
        ("Update to v1.2", "", "task_create", {"task_text": "Update to v1.2"}),
    ],
)  # fmt: skip
async def test_the_matters_own_text_decides(
    title: str, description: str, name: str, parameters: dict[str, str]
) -> None:
    payload = await propose(title=title, description=description)

    assert (payload["kind"], payload["name"], payload["parameters"]) == ("standard", name, parameters)
    assert payload["plan_summary"]
    assert payload["rationale"]


@pytest.mark.parametrize(
    ("prior", "feedback", "name", "parameters"),
    [
        (HOURS, "into opening.md, please", "file_append", {"path": "opening.md", "text": "Mon-Fri 9-17"}),
        (HOURS, 'say "closed on Sunday"', "file_append", {"path": "hours.md", "text": "closed on Sunday"}),
        (HOURS, "as a task", "task_create", {"task_text": "Tell them"}),
        (HOURS, "GET http://127.0.0.1:5/hours", "http_request", {"method": "GET", "url": "http://127.0.0.1:5/hours"}),
        (HOURS, "mention the holidays", "file_append",
         {"path": "hours.md", "text": "Mon-Fri 9-17 (mention the holidays)"}),
        (HOURS, "", "file_append", {"path": "hours.md", "text": "Mon-Fri 9-17"}),
        (CALL, "HEAD is enough", "http_request", {"method": "HEAD", "url": "http://localhost:1/x"}),
        (TASK, "put it in diary.md instead", "file_append", {"path": "diary.md", "text": "Tell them"}),
        (TASK, "for twelve people", "task_create", {"task_text": "Book the room", "summary": "for twelve people"}),
    ],
)  # fmt: skip
async def test_feedback_overrides(prior: PriorProposal, feedback: str, name: str, parameters: dict[str, str]) -> None:
    payload = await propose(title="Tell them", prior=prior, feedback=(Feedback(feedback),))

    assert (payload["name"], payload["parameters"]) == (name, parameters)


async def test_the_newest_feedback_counts_and_older_feedback_is_not_lost() -> None:
    payload = await propose(
        title="Tell them", prior=HOURS, feedback=(Feedback('say "closed"'), Feedback("into opening.md"))
    )

    assert payload["parameters"] == {"path": "opening.md", "text": "closed"}


async def test_target_action_and_seeds_win() -> None:
    offer = Offer("task_create", "", {"properties": {"task_text": {}, "project": {}}, "additionalProperties": False})
    redirect = Feedback("into other.md", {"project": "loom", "path": "x"}, "task_create")

    payload = await propose(title="Tell them", prior=HOURS, feedback=(redirect,), offers=(offer,))

    assert payload["name"] == "task_create"
    assert payload["parameters"]["project"] == "loom"
    assert "path" not in payload["parameters"]


async def test_an_action_that_is_not_offered_becomes_a_question() -> None:
    payload = await propose(title="Check http://localhost/", offers=(Offer("task_create", "", {}),))

    assert payload["kind"] == "clarification"
    assert "http_request" in payload["blocked_on"]


async def test_context_items_are_read_too() -> None:
    item = Item("i1", "a selection", "append the minutes to minutes.md")

    assert (await propose(title="This", items=(item,)))["parameters"]["path"] == "minutes.md"


async def test_intent_and_context_say_what_was_read() -> None:
    items = (Item("1", "rota.pdf", ""), Item("2", "mail", ""))
    given = {"title": "Tell them", "description": "The rota changed.\nMore.", "items": items}

    intent = await Scripted().infer(infer(Target.INTENT, **given))
    context = await Scripted().infer(infer(Target.CONTEXT, **given))

    assert intent.payload == {"intent": "Tell them: The rota changed."}
    assert "2 items: rota.pdf, mail" in context.payload["context"]
    assert (intent.confidence, intent.model, intent.tier, intent.cost_usd) == (0.9, "scripted", "local_fast", 0.0)


async def test_a_clarification_reaches_every_target() -> None:
    given = {"title": "Book the room", "clarifications": ("The large one",)}

    assert (await Scripted().infer(infer(Target.INTENT, **given))).payload["intent"] == "Book the room: The large one"
    assert "The large one" in (await Scripted().infer(infer(Target.CONTEXT, **given))).payload["context"]
    assert (await propose(**given))["parameters"]["summary"] == "The large one"


@pytest.mark.parametrize("title", ["[[fail]]", "x [[fail action]] y", "[[FAIL]]"])
async def test_told_to_fail(title: str) -> None:
    with pytest.raises(Failed) as failed:
        await propose(title=title)

    assert (failed.value.code, failed.value.retryable) == (Code.PROVIDER_ERROR, False)


async def test_told_to_fail_twice_and_then_to_answer() -> None:
    for attempt in (1, 2):
        with pytest.raises(Failed) as failed:
            await propose(title="Call [[fail 2]]", attempt=attempt)
        assert failed.value.retryable

    assert (await propose(title="Call [[fail 2]]", attempt=3))["parameters"] == {"task_text": "Call"}


async def test_told_to_answer_nothing_for_one_target_only() -> None:
    title = "Call [[empty context]]"

    assert (await Scripted().infer(infer(Target.CONTEXT, title))).payload == {}
    assert (await Scripted().infer(infer(Target.INTENT, title))).payload == {"intent": "Call"}


async def test_told_a_confidence_a_risk_a_question() -> None:
    unsure = await Scripted().infer(infer(title="Call [[confidence 0.2]] [[risk high]]"))
    asking = await propose(title="Book the room [[clarify: Which room?]]")

    assert (unsure.confidence, unsure.payload["irreversibility"]) == (0.2, "high")
    assert (asking["kind"], asking["blocked_on"], asking["parameters"]) == ("clarification", "Which room?", {})


async def test_a_question_that_was_answered_is_not_asked_again() -> None:
    payload = await propose(title="Book the room [[clarify: Which room?]]", clarifications=("The large one",))

    assert payload["kind"] == "standard"


async def test_told_to_be_slow_and_stopping_at_once_when_cancelled() -> None:
    begin = time.monotonic()
    await propose(title="[[slow 150ms]] x")
    assert time.monotonic() - begin >= 0.15

    slow = asyncio.create_task(propose(title="[[slow 60s]] x"))
    await asyncio.sleep(0)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow


@pytest.mark.parametrize(
    "text", ["[[wiki link]]", "[[slow]]", "[[confidence 2]]", "[[fail x]]", "[[]]", "[[ ]]", "a[[0]]"]
)
async def test_what_is_no_directive_stays_in_the_text(text: str) -> None:
    assert (await propose(title=f"See {text}"))["parameters"]["task_text"] == f"See {' '.join(text.split())}"


async def test_the_same_task_gives_the_same_guess() -> None:
    given = {"title": "Tell them", "prior": HOURS, "feedback": (Feedback("mention the holidays"),)}

    assert await propose(**given) == await propose(**given)


@pytest.mark.parametrize("target", [Target.INTENT, Target.ACTION])
async def test_nothing_to_read_is_an_empty_answer(target: Target) -> None:
    assert (await Scripted().infer(infer(target, title="[[slow 1ms]]"))).payload == {}


async def test_a_request_without_a_url_becomes_a_question() -> None:
    payload = await propose(title="Tell them", feedback=(Feedback("", {}, "http_request"),))

    assert payload["kind"] == "clarification"


@pytest.mark.parametrize("title", ["Append x to n.md " + "😀" * 30_000, "x" * 100_000])
async def test_long_text_is_cut_visibly_to_what_a_proposal_may_hold(title: str) -> None:
    parameters = (await propose(title=title, description=title))["parameters"]

    assert all(len(value.encode()) <= 65_536 for value in parameters.values())
    assert any(value.endswith("…") for value in parameters.values())
