"""The objective over a real channel (C5): who wins, who is told, and limits."""

from __future__ import annotations

import pytest

from services.kernel.errors import EtagMismatch
from tests.integration.planning.client import Planning, refused


async def test_the_last_writer_wins_and_is_named(planning: Planning, chat: str) -> None:
    assert (await planning.objective(chat)).version == 0
    done = await planning.aim(chat, "  Ship \n it  ")
    assert (done.text, done.updated_by, done.version) == ("Ship it", "user", 1)
    await planning.begin(chat, 1)
    done = await planning.agent(chat).aim(chat, "Ship it today")
    assert (done.text, done.updated_by, done.version, done.notice) == ("Ship it today", "agent", 2, "")
    assert await planning.objective(chat) == done


async def test_an_agent_does_not_overwrite_what_a_person_wrote_in_its_turn(planning: Planning, chat: str) -> None:
    await planning.begin(chat, 1)
    agent = planning.agent(chat)
    await agent.aim(chat, "mine")
    theirs = await planning.aim(chat, "theirs")
    refusal = await agent.aim(chat, "mine again", request_id="r1")
    assert refusal.notice
    assert (refusal.text, refusal.version) == ("theirs", theirs.version)
    assert (await agent.aim(chat, "mine again", request_id="r1")).notice == refusal.notice
    assert (await agent.aim(chat, "forced", force=True)).text == "forced"
    await planning.aim(chat, "theirs again")
    await planning.begin(chat, 2)
    assert (await agent.aim(chat, "next turn")).text == "next turn"


async def test_if_match_is_honoured(planning: Planning, chat: str) -> None:
    first = await planning.aim(chat, "one")
    second = await planning.aim(chat, "two", etag=first.etag)
    async with refused("ETAG_MISMATCH") as caught:
        await planning.aim(chat, "three", etag=first.etag)
    assert isinstance(caught.value, EtagMismatch)
    assert caught.value.metadata["version"] == "2"
    assert (await planning.aim(chat, "", etag=second.etag)).text == ""


@pytest.mark.parametrize("letter", ["a", "\N{GRINNING FACE}", "\N{MAN}\N{ZERO WIDTH JOINER}"])
async def test_pub21_the_limit_counts_code_points(planning: Planning, chat: str, letter: str) -> None:
    at_limit = (letter * 500)[:500]
    assert (await planning.aim(chat, at_limit)).text == at_limit
    assert (await planning.objective(chat)).text == at_limit
    async with refused("INVALID_ARGUMENT") as caught:
        await planning.aim(chat, at_limit + "x")
    assert caught.value.metadata == {"field": "text", "limit": "500"}
    assert (await planning.objective(chat)).text == at_limit


async def test_pub22_nul_is_refused_by_its_field_and_the_stored_text_stays(planning: Planning, chat: str) -> None:
    await planning.aim(chat, "fine \N{GRINNING FACE}")
    async with refused("INVALID_ARGUMENT") as caught:
        await planning.aim(chat, "x\0y")
    assert caught.value.metadata["field"] == "text"
    async with refused("INVALID_ARGUMENT"):
        await planning.add(chat, "x\0y")
    async with refused("INVALID_ARGUMENT"):
        await planning.put(chat, "notes", "x\0y")
    assert (await planning.objective(chat)).text == "fine \N{GRINNING FACE}"


async def test_a_person_does_not_reorder_under_an_agent_at_work(planning: Planning, chat: str) -> None:
    plan = await planning.add(chat, "a", "b")
    await planning.begin(chat, 1)
    async with refused("TURN_IN_PROGRESS"):
        await planning.reorder(chat, [plan.steps[1].id, plan.steps[0].id])
    async with refused("TURN_IN_PROGRESS"):
        await planning.move(chat, 1, after_index=2)
    assert (await planning.plan(chat)).version == plan.version
    await planning.toggle(chat, 1)
    await planning.agent(chat).move(chat, 1, after_index=2)
