"""Turns and what going on from them begins with (C2, C8 1-9, 13, 14)."""

from __future__ import annotations

import asyncio

from services.kernel.ids import new_id
from services.kernel.postgres import Database
from tests.integration.planning.client import Planning, refused, state, texts


async def end(database: Database, session: str) -> None:
    """The newest turn is over, as streaming's fact makes it."""
    async with database.connection() as tx:
        await tx.raw.execute("UPDATE turns SET running = false, ended_at = now() WHERE line = $1 AND running", session)
        await tx.raw.execute("UPDATE workspaces SET running = false WHERE session_id = $1", session)


async def test_c8_1_what_a_person_edits_between_turns_belongs_to_the_turn_before(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.aim(chat, "first")
    await planning.begin(chat, 1)
    await end(database, chat)
    await planning.aim(chat, "edited after turn 1")
    await planning.begin(chat, 2)
    assert (await planning.restore(chat, 1)).objective == "edited after turn 1"
    assert (await planning.restore(chat, 0)).objective == "first"


async def test_c8_2_going_on_from_the_last_turn_begins_with_what_is_now(
    planning: Planning, chat: str, database: Database
) -> None:
    before = await planning.restore(chat, 0)
    assert (before.live, state(before)) == (True, ("", [], []))
    await planning.begin(chat, 1)
    await planning.agent(chat).add(chat, "by the agent")
    await end(database, chat)
    await planning.put(chat, "notes", "text")
    now = await planning.restore(chat, 1)
    assert now.live
    assert now.plan == await planning.plan(chat)
    assert [one.content for one in now.documents] == ["text"]


async def test_c8_3_what_was_stays_as_it_was(planning: Planning, chat: str, database: Database) -> None:
    plan = await planning.add(chat, "a", "b")
    await planning.add(chat, "a1", under=1)
    await planning.aim(chat, "goal")
    await planning.put(chat, "notes", "one")
    await planning.lock(chat, "notes")
    await planning.begin(chat, 1)
    await end(database, chat)
    kept = state(await planning.restore(chat, 0))
    assert [one.origin_id for one in plan.steps] == [kept[1][0][3], kept[1][2][3]]
    assert kept[2] == [("notes", "one", True)]
    for turn in range(2, 12):
        await planning.toggle(chat, 1)
        await planning.add(chat, f"step {turn}")
        await planning.aim(chat, f"goal {turn}")
        await planning.put(chat, "notes", f"version {turn}")
        await planning.begin(chat, turn)
        await end(database, chat)
    assert state(await planning.restore(chat, 0)) == kept
    assert (await planning.restore(chat, 4)).objective == "goal 5"


async def test_c8_4_a_turn_that_never_ends_does_not_keep_the_next_from_being_kept(
    planning: Planning, chat: str
) -> None:
    await planning.begin(chat, 1)
    await planning.agent(chat).add(chat, "half done")
    await planning.begin(chat, 2)
    assert texts((await planning.restore(chat, 1)).plan) == ["half done"]
    assert (await planning.restore(chat, 0)).plan.steps == []
    first, second = await planning.turns(chat)
    assert (first.running, first.outcome, second.running) == (False, "superseded", True)


async def test_c8_5_a_missing_snapshot_is_told_and_nothing_else_is_shown(
    planning: Planning, chat: str, database: Database
) -> None:
    for turn in (1, 2, 3):
        await planning.begin(chat, turn)
        await planning.agent(chat).add(chat, f"in turn {turn}")
    await end(database, chat)
    async with database.connection() as tx:
        await tx.raw.execute("UPDATE turns SET kept = false, plan = '', documents = '' WHERE number = 2")
    async with refused("RESTORE_UNAVAILABLE"):
        await planning.restore(chat, 1)
    async with refused("RESTORE_UNAVAILABLE"):
        await planning.branch(chat, 1)
    assert texts((await planning.restore(chat, 2)).plan) == ["in turn 1", "in turn 2"]
    assert [one.restorable for one in await planning.turns(chat)] == [False, True, True]


async def test_c8_7_a_turn_under_way_is_refused_and_the_one_before_is_not(planning: Planning, chat: str) -> None:
    await planning.add(chat, "a")
    await planning.begin(chat, 1)
    await planning.begin(chat, 2)
    async with refused("TURN_IN_PROGRESS"):
        await planning.restore(chat, 2)
    async with refused("TURN_IN_PROGRESS"):
        await planning.branch(chat, 2)
    assert texts((await planning.restore(chat, 1)).plan) == ["a"]
    async with refused("TURN_NOT_FOUND"):
        await planning.restore(chat, 3)


async def test_c8_8_a_turn_that_is_begun_again_is_one_turn_with_one_snapshot(
    planning: Planning, chat: str, database: Database
) -> None:
    turn_id = new_id("trn")
    await asyncio.gather(*(planning.begin(chat, 1, turn_id) for _ in range(8)))
    await planning.agent(chat).add(chat, "the turn's own")
    await planning.begin(chat, 1, turn_id)
    assert (await planning.restore(chat, 0)).plan.steps == []
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT count(*) FROM turns") == 1
    for number, other in ((1, new_id("trn")), (2, turn_id)):
        async with refused("TURN_STALE") as caught:
            await planning.begin(chat, number, other)
        assert caught.value.metadata["last"] == "1"


async def test_turns_begin_in_order_and_numbers_may_be_missing(planning: Planning, chat: str) -> None:
    await planning.begin(chat, 1)
    await planning.agent(chat).add(chat, "a")
    await planning.begin(chat, 7)
    async with refused("TURN_STALE"):
        await planning.begin(chat, 5)
    assert texts((await planning.restore(chat, 1)).plan) == ["a"]
    async with refused("TURN_NOT_FOUND"):
        await planning.restore(chat, 2)


async def test_c8_9_what_belongs_to_a_turn_is_not_in_its_snapshot(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.begin(chat, 1)
    await end(database, chat)
    await planning.begin(chat, 2)
    await planning.agent(chat).put(chat, "upload", "sent with message 2")
    await end(database, chat)
    assert (await planning.restore(chat, 1)).documents == []
    assert [one.key for one in (await planning.restore(chat, 2)).documents] == ["upload"]


async def test_c8_13_a_snapshot_of_old_is_read_and_branched_from(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.add(chat, "now")
    await planning.begin(chat, 1)
    await end(database, chat)
    async with database.connection() as tx:
        for digest, data in (
            ("old-plan", b'[{"text": "second", "position": 1}, {"text": "first", "done": true, "position": 0}]'),
            ("old-documents", b'[{"title": "notes", "content": "text", "position": 0}]'),
        ):
            await tx.raw.execute("INSERT INTO blobs SELECT tenant, family, $1, $2 FROM workspaces", digest, data)
        await tx.raw.execute("UPDATE turns SET plan = 'old-plan', documents = 'old-documents', objective = ''")
    old = await planning.restore(chat, 0)
    assert (old.objective, texts(old.plan), [one.depth for one in old.plan.steps]) == ("", ["first", "second"], [0, 0])
    assert [(one.key, one.content, one.locked) for one in old.documents] == [("notes", "text", False)]
    branch = await planning.branch(chat, 0)
    assert texts(await planning.plan(branch.session_id)) == ["first", "second"]


async def test_c8_14_a_snapshot_without_an_objective_restores_none(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.begin(chat, 1)
    await end(database, chat)
    await planning.aim(chat, "found later")
    branch = await planning.branch(chat, 0)
    assert (await planning.objective(branch.session_id)).text == ""
    await planning.aim(chat, "  ")
    assert (await planning.objective(chat)).text == ""


async def test_a_session_older_than_planning_gets_its_workspace_with_its_next_turn(planning: Planning) -> None:
    session = new_id("ses")
    await planning.begin(session, 5)
    assert [one.number for one in await planning.turns(session)] == [5]
    assert (await planning.restore(session, 0)).plan.steps == []


async def test_turns_are_listed_in_pages(planning: Planning, chat: str) -> None:
    ids = [await planning.begin(chat, number) for number in range(1, 121)]
    turns = await planning.turns(chat)
    assert [one.turn_id for one in turns] == ids
    assert [one.restorable for one in turns] == [True] * 119 + [False]
