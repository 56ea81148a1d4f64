"""Branches that race with turns (C8-6): whichever comes first, the branch is what the turn began with."""

from __future__ import annotations

import asyncio

from services.kernel.errors import Refusal
from services.kernel.postgres import Database
from tests.integration.planning.client import state
from tests.integration.planning.conftest import StartReplica
from tests.integration.planning.test_branches import counts, delete
from tests.integration.planning.test_snapshots import end


async def test_c8_6_a_branch_that_races_with_the_next_turn_equals_its_snapshot(
    start_replica: StartReplica, database: Database, rounds: int
) -> None:
    one, other = await start_replica(), await start_replica()
    chat = await one.open()
    await one.add(chat, "a", "b")
    await one.begin(chat, 1)
    await end(database, chat)
    for turn in range(2, 2 + rounds):
        await one.aim(chat, f"goal {turn}")
        await one.toggle(chat, 1)

        async def begin_and_change(number: int) -> None:
            await other.begin(chat, number)
            await other.agent(chat).add(chat, f"in turn {number}")
            await other.agent(chat).aim(chat, f"in turn {number}")

        branch, _ = await asyncio.gather(one.branch(chat, turn - 1, fork=True), begin_and_change(turn))
        wanted = state(await one.restore(chat, turn - 1))
        assert wanted[0] == f"goal {turn}"
        assert state(await one.restore(branch.session_id, turn - 1)) == wanted
        await end(database, chat)
        await one.remove(chat, 3)
        await delete(branch.session_id, database)
    assert (await counts(database))["workspaces"] == 1


async def test_turns_begun_at_once_are_one_after_the_other(
    start_replica: StartReplica, database: Database, rounds: int
) -> None:
    one, other = await start_replica(), await start_replica()
    for _ in range(max(1, rounds // 10)):
        chat = await one.open()
        done = await asyncio.gather(
            *((one, other)[at % 2].begin(chat, at % 4 + 1) for at in range(12)), return_exceptions=True
        )
        refusals = [one.reason for one in done if isinstance(one, Refusal)]
        assert set(refusals) <= {"TURN_STALE"}
        turns = await one.turns(chat)
        assert [turn.number for turn in turns] == sorted({turn.number for turn in turns})
        assert len(turns) == 12 - len(refusals)
        assert [turn.running for turn in turns] == [False] * (len(turns) - 1) + [True]


async def test_deleting_a_family_while_it_talks_and_branches_leaves_nothing_half(
    start_replica: StartReplica, database: Database, rounds: int
) -> None:
    one, other = await start_replica(), await start_replica()
    for _ in range(max(3, rounds // 4)):
        chat = await one.open()
        await one.put(chat, "notes", "same in all")
        for turn in (1, 2):
            await one.begin(chat, turn)
            await one.agent(chat).add(chat, f"step {turn}")
        await end(database, chat)
        branch = (await one.branch(chat, 1)).session_id
        done = await asyncio.gather(
            delete(chat, database),
            other.begin(branch, 2),
            other.branch(branch, 1, fork=True),
            one.branch(chat, 1),
            return_exceptions=True,
        )
        refusals = {one.reason for one in done if isinstance(one, Refusal)}
        assert refusals <= {"SESSION_NOT_FOUND", "TURN_IN_PROGRESS"}, refusals  # nobody waits in a circle
        assert not [one for one in done if isinstance(one, BaseException) and not isinstance(one, Refusal)]
        graph = await one.graph(branch)
        for head in graph.heads:
            for seen in await other.turns(head.session_id):
                if seen.restorable:
                    kept = await other.restore(head.session_id, seen.number)
                    assert [document.content for document in kept.documents] == ["same in all"]
        for head in graph.heads:
            await delete(head.session_id, database)
        assert {name: n for name, n in (await counts(database)).items() if name != "branches"} == {
            name: 0 for name in await counts(database) if name != "branches"
        }
