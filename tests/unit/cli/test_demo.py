"""The demo story: six matters in six states; told twice, told halfway, told by two at once, it is one story."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from services.cli import demo_story
from services.cli.exits import CommandFailed, Exit
from tests.fakes.gateway import FakeGateway
from tests.unit.cli.conftest import Cli

STATES = [
    "awaiting_confirmation",
    "done",
    "awaiting_action_clarification",
    "awaiting_confirmation",
    "dismissed",
    "awaiting_redirect",
]


def test_tells_a_story_with_every_state_that_a_person_meets(cli: Cli, gateway: FakeGateway) -> None:
    told = cli("demo", "--json")

    assert told.code == Exit.OK
    assert [card["state"] for card in told.json["threads"]] == STATES
    rota = told.json["threads"][3]["actions"][0]
    assert (rota["name"], rota["parameters"]["path"]) == ("file_append", "rota.md")
    assert told.json["threads"][5]["failure_context"]["code"] == "host_not_allowed"


def test_told_twice_it_is_the_same_story(cli: Cli, gateway: FakeGateway) -> None:
    cli("demo")
    asked, said = len(gateway.asked), len(gateway.conversation.asked)

    assert [card["state"] for card in cli("demo", "--json").json["threads"]] == STATES
    assert len(gateway.asked) == asked, "the second time nothing is changed, not even repeated"
    assert len(gateway.conversation.asked) == said


def test_a_conversation_with_workers_and_a_plan_is_part_of_it(cli: Cli, gateway: FakeGateway) -> None:
    cli("demo")
    [session] = gateway.conversation.sessions.values()
    at = f"/api/sessions/{session['id']}"
    assert gateway.conversation.asked == [
        "POST /api/sessions",
        "POST /api/coordination/flag",
        f"PUT {at}/objective",
        f"POST {at}/plan/add",
        f"POST {at}/prompt",
        f"POST {at}/plan/toggle",
    ]


async def test_a_conversation_that_no_runner_takes_says_so(gateway: FakeGateway) -> None:
    gateway.conversation.idle = True

    with pytest.raises(CommandFailed, match="is a runner at work"):
        await demo_story.fill(gateway.url, settle_seconds=0.2)


def test_what_a_person_did_in_between_is_left_alone(cli: Cli, gateway: FakeGateway) -> None:
    failed = cli("demo", "--json").json["threads"][5]["id"]
    cli("threads", "redirect", failed, "as a task")
    asked = len(gateway.asked)

    assert cli("demo", "--json").json["threads"][5]["state"] == "awaiting_confirmation"
    assert len(gateway.asked) == asked


async def test_told_by_two_at_once_it_is_one_story(gateway: FakeGateway) -> None:
    await asyncio.gather(*(demo_story.fill(gateway.url) for _ in range(3)))

    assert Counter(card["state"] for card in gateway.cards.values()) == Counter(STATES)
    assert len(gateway.conversation.sessions) == 1


async def test_where_threads_exist_already_nothing_is_filled_in(gateway: FakeGateway, cli: Cli) -> None:
    assert await demo_story.fill_if_empty(gateway.url)
    assert not await demo_story.fill_if_empty(gateway.url)
    assert len(gateway.cards) == len(STATES)


async def test_without_a_runner_it_says_so(gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway.idle = True

    with pytest.raises(CommandFailed, match="is a runner at work") as failed:
        await demo_story.fill(gateway.url, settle_seconds=0.2)

    assert failed.value.exit is Exit.UNAVAILABLE
