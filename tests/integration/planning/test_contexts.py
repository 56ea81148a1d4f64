"""What an agent is told of objective and plan is kept with its turn, once, and read back (C.6)."""

from __future__ import annotations

import asyncio
import hashlib

import asyncpg
import pytest

from services.kernel.ids import new_id
from services.kernel.postgres import Database
from tests.integration.planning.client import Planning, refused, texts, token
from tests.integration.planning.conftest import StartReplica
from tests.integration.planning.test_branches import counts, delete
from tests.integration.planning.test_snapshots import end
from treadle.planning.v1 import planning_service_pb2 as pb


async def blobs(database: Database) -> int:
    """How many are kept."""
    return (await counts(database))["blobs"]


async def test_the_context_tells_of_objective_and_plan(planning: Planning, chat: str) -> None:
    await planning.aim(chat, "Win\n# forged")
    await planning.add(chat, "a")
    await planning.begin(chat, 1)
    context = await planning.agent(chat).compose(chat)
    assert "Objective: Win # forged" in context.text
    assert "- [ ] (1) 1 a" in context.text
    assert context.version == 1


async def test_the_same_turn_gets_the_same_bytes_and_they_are_read_back(planning: Planning, chat: str) -> None:
    await planning.add(chat, "as it was")
    turn_id = await planning.begin(chat, 1)
    agent = planning.agent(chat)
    told = await agent.compose(chat, turn_id)
    assert (told.session_id, told.turn_id, told.turn, told.version) == (chat, turn_id, 1, 1)
    assert told.sha256 == hashlib.sha256(told.text.encode()).hexdigest()
    assert told.HasField("create_time")
    await agent.edit(chat, 1, "as it is now")
    assert await agent.compose(chat, turn_id) == await agent.compose(chat) == told
    for reader in (planning, agent, planning.by(token("v", "user", "viewer"))):
        for read in (reader.told(chat), reader.told(chat, 1), reader.told(chat, turn_id=turn_id)):
            assert await read == told
    assert texts(await planning.plan(chat)) == ["as it is now"]


async def test_each_turn_has_its_own_and_the_newest_is_the_last_that_was_told(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.add(chat, "a")
    agent = planning.agent(chat)
    told = []
    for turn in (1, 2, 3):
        await planning.begin(chat, turn)
        told.append(await agent.compose(chat))
        await agent.toggle(chat, 1)
        await end(database, chat)
    await planning.begin(chat, 4)
    assert [await planning.told(chat, turn) for turn in (1, 2, 3)] == told
    assert [one.version for one in told] == [1, 2, 3]
    assert await planning.told(chat) == told[-1]
    async with refused("PLAN_CONTEXT_NOT_FOUND"):
        await planning.told(chat, 4)


async def test_what_is_told_again_costs_nothing(start_replica: StartReplica, database: Database) -> None:
    one, other = await start_replica(), await start_replica()
    chat = await one.open()
    await one.add(chat, "a", "b")
    before = []
    for turn in range(1, 6):
        turn_id = await one.begin(chat, turn)
        kept = await blobs(database)
        told = await asyncio.gather(
            *((one, other)[at % 2].agent(chat).compose(chat, turn_id if at % 3 else "") for at in range(12))
        )
        assert len({answer.SerializeToString() for answer in told}) == 1
        await one.agent(chat).toggle(chat, 1)
        await one.agent(chat).toggle(chat, 1, done=False)
        await one.agent(chat).compose(chat)
        before.append(await blobs(database) - kept)
        await end(database, chat)
    assert before == [1] * 5, "one text a turn: the plan's version is told too"
    for turn in (6, 7, 8):
        await one.begin(chat, turn)
        await one.agent(chat).compose(chat)
    assert await blobs(database) - kept == 1 + 1, "the same text, told in three turns, is kept once"


async def test_people_are_only_shown_what_would_be_told(planning: Planning, chat: str, database: Database) -> None:
    await planning.add(chat, "a")
    assert "1 a" in (await planning.compose(chat)).text
    turn_id = await planning.begin(chat, 1)
    before = await counts(database)
    shown = await planning.compose(chat, turn_id)
    assert (shown.turn, shown.turn_id, shown.HasField("create_time")) == (0, "", False)
    assert await counts(database) == before
    async with refused("PLAN_CONTEXT_NOT_FOUND"):
        await planning.told(chat)
    await end(database, chat)
    async with refused("TURN_ENDED"):
        await planning.compose(chat, turn_id)


async def test_an_agent_is_told_in_its_live_turn_alone(planning: Planning, chat: str, database: Database) -> None:
    agent = planning.agent(chat)
    await planning.add(chat, "a")
    async with refused("TURN_ENDED"):
        await agent.compose(chat)
    first = await planning.begin(chat, 1)
    told = await agent.compose(chat, first)
    await end(database, chat)
    assert await agent.compose(chat, first) == told, "what was told stays told"
    async with refused("TURN_ENDED"):
        await agent.compose(chat)
    second = await planning.begin(chat, 2)
    await end(database, chat)
    third = await planning.begin(chat, 3)
    for wrong in (second, new_id("trn")):
        async with refused("TURN_ENDED"):
            await agent.compose(chat, wrong)
    for wrong in ("trn_of_nobody", "x\x00", chat):
        async with refused("INVALID_ARGUMENT") as caught:
            await agent.compose(chat, wrong)
        assert caught.value.metadata["field"] == "turn_id"
    assert (await agent.compose(chat)).turn_id == third
    other = await planning.open()
    await planning.begin(other, 1)
    async with refused("NOT_YOURS"):
        await planning.agent(other).compose(chat)
    stranger = planning.by(token(tenant="umbrella"))
    for call in (stranger.told(chat), stranger.compose(chat)):
        async with refused("SESSION_NOT_FOUND"):
            await call


async def test_where_there_is_nothing_to_tell_nothing_is_kept(
    planning: Planning, chat: str, database: Database
) -> None:
    turn_id = await planning.begin(chat, 1)
    before = await counts(database)
    told = await planning.agent(chat).compose(chat)
    assert (told.text, told.turn_id, told.HasField("create_time")) == ("", turn_id, False)
    assert await counts(database) == before
    async with refused("PLAN_CONTEXT_NOT_FOUND"):
        await planning.told(chat, 1)
    for turn, of in ((1, turn_id), (-1, ""), (0, "x\x00")):
        async with refused("INVALID_ARGUMENT"):
            await planning.told(chat, turn, of)


async def test_a_branch_has_what_was_told_in_the_turns_that_it_shares(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.add(chat, "a")
    told = []
    for turn in (1, 2, 3):
        await planning.begin(chat, turn)
        told.append(await planning.agent(chat).compose(chat))
        await planning.agent(chat).add(chat, f"in turn {turn}")
        await end(database, chat)
    branch = (await planning.branch(chat, 2)).session_id

    def but_the_session(answers: list[pb.PlanContext]) -> list[tuple[object, ...]]:
        return [(one.turn_id, one.text, one.sha256, one.version, one.turn) for one in answers]

    assert but_the_session([await planning.told(branch, turn) for turn in (1, 2)]) == but_the_session(told[:2])
    assert (await planning.told(branch)).turn == 2
    async with refused("PLAN_CONTEXT_NOT_FOUND"):
        await planning.told(branch, 3)
    async with refused("TURN_ENDED"):
        await planning.agent(branch).compose(branch)
    async with refused("TURN_ENDED"):
        await planning.agent(branch).compose(branch, told[1].turn_id)
    await planning.begin(branch, 3)
    own = await planning.agent(branch).compose(branch)
    assert own.text != told[2].text
    assert await planning.told(chat, 3) == told[2]
    await delete(chat, database)
    assert but_the_session([await planning.told(branch, turn) for turn in (1, 2)]) == but_the_session(told[:2])
    assert await planning.told(branch) == own
    await delete(branch, database)
    assert {n for name, n in (await counts(database)).items() if name != "branches"} == {0}


async def test_deleting_a_branch_takes_what_was_told_in_it_and_no_more(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.add(chat, "a")
    await planning.begin(chat, 1)
    told = await planning.agent(chat).compose(chat)
    await end(database, chat)
    before = await counts(database)
    branch = (await planning.branch(chat, 0)).session_id
    await planning.begin(branch, 1)
    await planning.agent(branch).compose(branch)
    await planning.agent(branch).edit(branch, 1, "else")
    await delete(branch, database)
    assert await counts(database) == before
    assert await planning.told(chat, 1) == told


async def test_code_that_does_not_know_of_contexts_cannot_sweep_them_away(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.add(chat, "a")
    await planning.begin(chat, 1)
    told = await planning.agent(chat).compose(chat)
    async with database.connection() as tx:
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            await tx.raw.execute("DELETE FROM blobs WHERE sha256 = $1", told.sha256)


async def test_pub21_what_is_told_is_bounded_and_kept_as_it_was_told(planning: Planning, chat: str) -> None:
    await planning.aim(chat, "\N{GRINNING FACE}" * 500)
    for _ in range(4):
        await planning.add(chat, *["\N{GRINNING FACE}" * 500] * 50)
    await planning.begin(chat, 1)
    told = await planning.agent(chat).compose(chat)
    assert len(told.text) <= 8_000
    assert "more steps" in told.text
    assert (await planning.told(chat, 1)).text == told.text
