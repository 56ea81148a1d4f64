"""Branches over a real channel (C6, C8 10-12, 23-26): what they begin with, and that nothing is shared."""

from __future__ import annotations

import asyncio

from services.kernel.clock import SystemClock
from services.kernel.ids import is_id, new_id
from services.kernel.postgres import Database
from services.planning.adapters.work import PostgresWork
from services.planning.application.hearing import hear
from tests.integration.planning.client import Planning, refused, state, texts
from tests.integration.planning.conftest import Forks
from tests.integration.planning.test_snapshots import end
from treadle.planning.v1 import planning_service_pb2 as pb

COUNTED = ("workspaces", "steps", "documents", "turns", "stretches", "blobs", "families", "branches")


async def counts(database: Database) -> dict[str, int]:
    """Rows of every table that a conversation has."""
    async with database.connection() as tx:
        return {table: await tx.raw.fetchval(f"SELECT count(*) FROM {table}") for table in COUNTED}


async def talk(planning: Planning, chat: str, database: Database, *turns: int) -> None:
    """Turns that each change objective, plan and a document."""
    for turn in turns:
        await planning.begin(chat, turn)
        agent = planning.agent(chat)
        await agent.aim(chat, f"goal {turn}")
        await agent.add(chat, f"step {turn}")
        await agent.add(chat, f"sub {turn}", under=1)
        await agent.toggle(chat, 1)
        await agent.put(chat, "notes", f"notes {turn}")
        await end(database, chat)


async def delete(session: str, database: Database) -> None:
    """The session is deleted, as streaming's fact has it."""
    async with database.transaction() as tx:
        payload = {"kind": "deleted", "session_id": session, "actor": "user:ada"}
        await hear(PostgresWork(tx), SystemClock(), "acme", payload)


async def test_c8_10_a_branch_begins_with_what_the_turn_ended_with(
    planning: Planning, chat: str, database: Database, forks: Forks
) -> None:
    await talk(planning, chat, database, 1, 2, 3)
    before = state(await planning.restore(chat, 2))
    branch = await planning.branch(chat, 2, title="Another way")
    assert is_id("ses", branch.session_id)
    assert (branch.state, branch.forked, branch.turn) == (pb.Branch.STATE_READY, True, 2)
    assert (branch.origin_session_id, branch.by) == (chat, "user:ada")
    made = forks.fake.finished[branch.session_id]
    assert (made.name, made.turn, made.title, made.actor) == (f"sessions/{chat}", 2, "Another way", "user:ada")
    [caller] = forks.fake.callers
    assert (caller.tenant, caller.kind, caller.subject) == ("acme", "service", "planning")
    now = await planning.restore(branch.session_id, 2)
    assert now.live
    assert state(now) == before
    ids = {one.id for one in (await planning.plan(chat)).steps}
    assert ids.isdisjoint({one.id for one in now.plan.steps})
    assert await planning.call("GetBranch", pb.GetBranchRequest(name=f"sessions/{branch.session_id}")) == branch
    async with refused("BRANCH_NOT_FOUND"):
        await planning.call("GetBranch", pb.GetBranchRequest(name=f"sessions/{chat}"))


async def test_c8_11_every_turn_up_to_the_fork_is_the_same_in_both(
    planning: Planning, chat: str, database: Database
) -> None:
    await talk(planning, chat, database, 1, 2, 3, 4)
    branch = (await planning.branch(chat, 3)).session_id
    for turn in range(4):
        assert state(await planning.restore(branch, turn)) == state(await planning.restore(chat, turn))
    async with refused("TURN_NOT_FOUND"):
        await planning.restore(branch, 4)
    assert [one.number for one in await planning.turns(branch)] == [1, 2, 3]
    assert [one.turn_id for one in await planning.turns(branch)] == [
        one.turn_id for one in (await planning.turns(chat))[:3]
    ]


async def test_c8_12_neither_sees_the_other_and_a_branch_outlives_its_origin(
    planning: Planning, chat: str, database: Database
) -> None:
    await talk(planning, chat, database, 1, 2, 3)
    origin = [state(await planning.restore(chat, turn)) for turn in range(4)]
    branch = (await planning.branch(chat, 2)).session_id
    kept = [state(await planning.restore(branch, turn)) for turn in range(3)]
    await talk(planning, branch, database, 3, 4)
    await planning.remove(branch, 1)
    assert [state(await planning.restore(chat, turn)) for turn in range(4)] == origin
    await planning.aim(chat, "elsewhere")
    await planning.begin(chat, 4)
    assert [state(await planning.restore(branch, turn)) for turn in range(3)] == kept
    await delete(chat, database)
    assert [state(await planning.restore(branch, turn)) for turn in range(3)] == kept
    found = await planning.call("GetBranch", pb.GetBranchRequest(name=f"sessions/{branch}"))
    assert found.origin_session_id == ""
    async with refused("SESSION_NOT_FOUND"):
        await planning.plan(chat)
    async with refused("SESSION_DELETED"):
        await planning.begin(chat, 5)


async def test_c8_24_a_double_click_makes_one_branch(
    planning: Planning, chat: str, database: Database, forks: Forks
) -> None:
    await talk(planning, chat, database, 1, 2)
    request_id = new_id("req")
    made = await asyncio.gather(*(planning.branch(chat, 1, request_id=request_id) for _ in range(6)))
    assert len({one.session_id for one in made}) == 1
    assert (await planning.branch(chat, 1, request_id=request_id)).session_id == made[0].session_id
    assert len(forks.fake.finished) == 1
    assert (await planning.branch(chat, 1)).session_id != made[0].session_id
    answer = await planning.call("ListBranches", pb.ListBranchesRequest(parent=f"sessions/{chat}", page_size=1))
    assert [one.session_id for one in answer.branches] == [made[0].session_id]
    answer = await planning.call(
        "ListBranches",
        pb.ListBranchesRequest(parent=f"sessions/{chat}", page_size=1, page_token=answer.next_page_token),
    )
    assert len(answer.branches) == 1
    assert answer.next_page_token == ""


async def test_c8_25_branches_of_branches_of_branches(planning: Planning, chat: str, database: Database) -> None:
    await talk(planning, chat, database, 1, 2, 3, 4)
    second = (await planning.branch(chat, 3)).session_id
    await talk(planning, second, database, 4, 5)
    third = (await planning.branch(second, 4)).session_id
    await talk(planning, third, database, 5)
    fourth = (await planning.branch(third, 2)).session_id
    await talk(planning, fourth, database, 3)
    for turn in range(3):
        wanted = state(await planning.restore(chat, turn))
        for one in (second, third):
            assert state(await planning.restore(one, turn)) == wanted
    assert state(await planning.restore(third, 3)) == state(await planning.restore(second, 3))
    assert [one.number for one in await planning.turns(third)] == [1, 2, 3, 4, 5]
    assert [one.session_id for one in await planning.turns(fourth)] == [chat, chat, fourth]
    kept = [state(await planning.restore(third, turn)) for turn in range(6)]
    for gone in (second, chat, fourth):
        await delete(gone, database)
        assert [state(await planning.restore(third, turn)) for turn in range(6)] == kept


async def test_c8_26_deleting_leaves_nothing_behind_that_nobody_stands_on(
    planning: Planning, chat: str, database: Database
) -> None:
    other = await planning.open()
    await talk(planning, other, database, 1, 2)
    alone = await counts(database)
    await talk(planning, chat, database, 1, 2, 3)
    before = await counts(database)
    branch = (await planning.branch(chat, 2)).session_id
    await talk(planning, branch, database, 3)
    await delete(branch, database)
    assert await counts(database) == before
    branch = (await planning.branch(chat, 1)).session_id
    await delete(chat, database)
    assert (await counts(database))["turns"] == alone["turns"] + 1
    assert state(await planning.restore(branch, 0)) == ("", [], [])
    await delete(branch, database)
    alone["workspaces"] -= 1  # chat itself was there when they were counted
    alone["stretches"] -= 1
    alone["families"] -= 1
    assert await counts(database) == alone
    await delete(other, database)
    assert set((await counts(database)).values()) == {0}


async def test_going_on_from_the_last_turn_is_no_branch_unless_it_is_forced(
    planning: Planning, chat: str, database: Database, forks: Forks
) -> None:
    await talk(planning, chat, database, 1)
    plain = await planning.branch(chat, 1, request_id="r1")
    assert (plain.session_id, plain.forked, plain.state) == (chat, False, pb.Branch.STATE_READY)
    assert await planning.branch(chat, 1, request_id="r1") == plain
    assert forks.fake.finished == {}
    await planning.aim(chat, "edited since")
    forced = await planning.branch(chat, 1, fork=True)
    assert forced.forked
    assert (await planning.objective(forced.session_id)).text == "edited since"


async def test_a_branch_begins_turns_behind_its_fork(planning: Planning, chat: str, database: Database) -> None:
    await talk(planning, chat, database, 1, 2, 3)
    branch = (await planning.branch(chat, 2)).session_id
    async with refused("TURN_STALE"):
        await planning.begin(branch, 2)
    async with refused("TURN_STALE"):
        await planning.begin(branch, 3, (await planning.turns(chat))[2].turn_id)
    await planning.begin(branch, 3)
    assert texts((await planning.restore(branch, 2)).plan) == texts((await planning.restore(chat, 2)).plan)


async def test_the_graph_draws_each_turn_once(planning: Planning, chat: str, database: Database) -> None:
    await talk(planning, chat, database, 1, 2, 3)
    branch = (await planning.branch(chat, 2)).session_id
    await talk(planning, branch, database, 3)
    again = (await planning.branch(branch, 1)).session_id
    graph = await planning.graph(again)
    own = {one.number: one for one in await planning.turns(chat)}
    theirs = (await planning.turns(branch))[2]
    assert [(one.turn_id, one.parent_turn_id, one.session_id) for one in graph.nodes] == [
        (own[1].turn_id, "", chat),
        (own[2].turn_id, own[1].turn_id, chat),
        (own[3].turn_id, own[2].turn_id, chat),
        (theirs.turn_id, own[2].turn_id, branch),
    ]
    for node in graph.nodes:
        kept = await planning.restore(node.session_id, node.number)
        assert (node.objective, node.leaves) == (kept.objective, kept.plan.leaves)
        assert (node.done_leaves, node.restorable) == (kept.plan.done_leaves, True)
    assert [(one.session_id, one.origin_session_id, one.turn_id, one.fork_turn_id) for one in graph.heads] == [
        (chat, "", own[3].turn_id, ""),
        (branch, chat, theirs.turn_id, own[2].turn_id),
        (again, branch, own[1].turn_id, own[1].turn_id),
    ]
    page = await planning.graph(chat, page_size=3)
    rest = await planning.graph(chat, page_size=3, page_token=page.next_page_token)
    assert [*page.nodes, *rest.nodes] == list(graph.nodes)
    assert rest.next_page_token == ""
    await delete(chat, database)
    graph = await planning.graph(again)
    assert [(one.turn_id, one.parent_turn_id) for one in graph.nodes] == [
        (own[1].turn_id, ""),
        (own[2].turn_id, own[1].turn_id),
        (theirs.turn_id, own[2].turn_id),
    ]
    assert {one.session_id for one in graph.nodes} <= {again, branch}


async def test_diff_and_cherry_pick_between_branches(planning: Planning, chat: str, database: Database) -> None:
    await planning.aim(chat, "goal")
    await planning.add(chat, "a", "b", "c")
    await planning.begin(chat, 1)
    await end(database, chat)
    branch = (await planning.branch(chat, 0)).session_id
    assert (await planning.diff(chat, branch)).changes == []
    await planning.aim(branch, "other goal")
    await planning.edit(branch, 1, "better a")
    await planning.toggle(branch, 2)
    await planning.remove(branch, 3)
    await planning.add(branch, "d")
    await planning.add(branch, "d1", under=3)
    await planning.move(branch, 2, after_index=0)
    diff = await planning.diff(chat, branch)
    kinds = {(one.after.text or one.before.text): list(one.kinds) for one in diff.changes}
    assert kinds == {
        "b": ["moved", "toggled"],
        "better a": ["edited"],
        "d": ["added"],
        "d1": ["added"],
        "c": ["removed"],
    }
    assert (diff.objective_changed, diff.objective, diff.other_objective) == (True, "goal", "other goal")
    by_text = {(one.after.text or one.before.text): one.origin_id for one in diff.changes}
    async with refused("CHERRY_PICK_REFUSED") as caught:
        await planning.pick(chat, branch, by_text["better a"], by_text["d1"])
    assert caught.value.metadata["origin_id"] == by_text["d1"]
    assert texts(await planning.plan(chat)) == ["a", "b", "c"]
    plan = await planning.pick(chat, branch, by_text["better a"], by_text["d"], source_version=diff.other_version)
    assert texts(plan) == ["better a", "d", "b", "c"]  # behind what it follows there
    async with refused("PLAN_CHANGED"):
        await planning.pick(chat, branch, by_text["b"], expected_version=diff.version)
    await planning.pick(chat, f"sessions/{branch}", *by_text.values(), objective=True)
    left = await planning.diff(chat, branch)
    assert (list(left.changes), left.objective_changed) == ([], False)
    async with refused("INVALID_ARGUMENT"):
        await planning.pick(chat, branch)
    async with refused("INVALID_ARGUMENT"):
        await planning.pick(chat, chat, by_text["b"])


async def test_what_is_taken_over_moves_nothing_under_an_agent_at_work(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.add(chat, "a", "b", "c")
    await planning.begin(chat, 1)
    await end(database, chat)
    branch = (await planning.branch(chat, 0)).session_id
    await planning.move(branch, 3, after_index=0)
    await planning.edit(branch, 2, "better a")
    await planning.begin(chat, 2)
    before = await planning.plan(chat)
    moved, edited = (one.origin_id for one in (await planning.diff(chat, branch)).changes)
    async with refused("TURN_IN_PROGRESS"):
        await planning.pick(chat, branch, edited, moved, objective=True)
    assert await planning.plan(chat) == before
    assert texts(await planning.pick(chat, branch, edited)) == ["better a", "b", "c"]
    await end(database, chat)
    assert texts(await planning.pick(chat, branch, moved)) == ["c", "better a", "b"]
