"""The plan over a real channel: adding, toggling, editing, removing, moving, reordering; versions; refusals."""

from __future__ import annotations

import pytest

from services.kernel.errors import Invalid
from services.kernel.ids import new_id
from tests.integration.planning.client import Planning, numbered, refused, shape, texts
from treadle.planning.v1 import planning_service_pb2 as pb


async def test_a_new_session_has_an_empty_plan(planning: Planning, chat: str) -> None:
    plan = await planning.plan(chat)
    assert (list(plan.steps), plan.version, plan.progress, plan.complete) == ([], 0, 0.0, False)


async def test_steps_are_added_numbered_and_counted(planning: Planning, chat: str) -> None:
    await planning.add(chat, "look", "build", "ship")
    plan = await planning.add(chat, "draft", "check", under=2)
    assert numbered(plan) == ["1 look", "2 build", "2.1 draft", "2.2 check", "3 ship"]
    assert [one.index for one in plan.steps] == [1, 2, 3, 4, 5]
    assert [one.leaf for one in plan.steps] == [True, False, True, True, True]
    assert (plan.version, plan.leaves) == (2, 4)
    assert await planning.plan(chat) == plan


async def test_c8_16_under_a_middle_parent_means_behind_its_whole_subtree(planning: Planning, chat: str) -> None:
    await planning.add(chat, "a", "b", "c")
    await planning.add(chat, "b1", under=2)
    await planning.add(chat, "b11", under=3)
    plan = await planning.add(chat, "b2", under=2)
    assert numbered(plan) == ["1 a", "2 b", "2.1 b1", "2.1.1 b11", "2.2 b2", "3 c"]


@pytest.mark.parametrize("parent", [0, 4, -1])
async def test_c8_17_a_bad_parent_writes_nothing(planning: Planning, chat: str, parent: int) -> None:
    before = await planning.add(chat, "a", "b", "c")
    async with refused("INVALID_ARGUMENT") as caught:
        await planning.add(chat, "x", under=parent)
    assert isinstance(caught.value, Invalid)
    assert caught.value.metadata == {"field": "parent_index", "limit": "3"}
    async with refused("INVALID_ARGUMENT"):
        await planning.add(chat, "fine", "  \n ")
    assert await planning.plan(chat) == before


async def test_c8_18_a_doubled_index_counts_once(planning: Planning, chat: str) -> None:
    await planning.add(chat, "a", "b")
    plan = await planning.toggle(chat, 2, 2)
    assert shape(plan) == [("a", 0, False), ("b", 0, True)]
    assert shape(await planning.toggle(chat, 1, 2, done=True)) == [("a", 0, True), ("b", 0, True)]
    assert shape(await planning.toggle(chat, 1, 2, done=True)) == [("a", 0, True), ("b", 0, True)]


async def test_c8_19_progress_counts_leaves_alone(planning: Planning, chat: str) -> None:
    await planning.add(chat, "parent")
    await planning.add(chat, "one", "two", under=1)
    plan = await planning.toggle(chat, 1)
    assert (plan.progress, plan.complete) == (0.0, False)
    plan = await planning.toggle(chat, 2, 3)
    assert (plan.progress, plan.complete, plan.done_leaves) == (1.0, True, 2)
    plan = await planning.add(chat, "deeper", under=3)
    assert (plan.progress, plan.complete) == (0.5, False)


async def test_c8_20_a_parent_goes_with_its_subtree(planning: Planning, chat: str) -> None:
    await planning.add(chat, "a", "b", "c")
    await planning.add(chat, "b1", under=2)
    plan = await planning.remove(chat, 2, 3)
    assert numbered(plan) == ["1 a", "2 c"]


async def test_c8_21_an_order_must_be_a_permutation(planning: Planning, chat: str) -> None:
    first = await planning.add(chat, "a", "b", "c")
    ids = [one.id for one in first.steps]
    moved = await planning.reorder(chat, [ids[2], ids[0], ids[1]])
    assert texts(moved) == ["c", "a", "b"]
    async with refused("PLAN_CHANGED") as caught:
        await planning.reorder(chat, ids, expected_version=first.version)
    assert caught.value.metadata == {"version": "2"}
    assert await planning.plan(chat) == moved


async def test_c8_22_a_stale_version_is_told(planning: Planning, chat: str) -> None:
    plan = await planning.add(chat, "a", "b")
    await planning.add(chat, "under a", under=1)
    for call in (
        planning.toggle(chat, 2, expected_version=plan.version),
        planning.edit(chat, 2, "x", expected_version=plan.version),
        planning.remove(chat, 2, expected_version=plan.version),
        planning.move(chat, 2, after_index=0, expected_version=plan.version),
        planning.add(chat, "x", expected_version=plan.version),
    ):
        async with refused("PLAN_CHANGED") as caught:
            await call
        assert caught.value.metadata == {"version": "2"}
    assert (await planning.toggle(chat, 3, expected_version=2)).version == 3


async def test_subtrees_move(planning: Planning, chat: str) -> None:
    await planning.add(chat, "a", "b", "c")
    await planning.add(chat, "a1", under=1)
    assert numbered(await planning.move(chat, 1, after_index=4)) == ["1 b", "2 c", "3 a", "3.1 a1"]
    assert numbered(await planning.move(chat, 3, parent_index=1)) == ["1 b", "1.1 a", "1.1.1 a1", "2 c"]
    assert numbered(await planning.move(chat, 3, after_index=0)) == ["1 a1", "2 b", "2.1 a", "3 c"]
    for wrong in ({}, {"after_index": 1, "parent_index": 1}, {"parent_index": 3}, {"after_index": 9}):
        async with refused("INVALID_ARGUMENT"):
            await planning.move(chat, 2, **wrong)


async def test_texts_are_edited_all_or_none(planning: Planning, chat: str) -> None:
    before = await planning.add(chat, "a", "b")
    assert texts(await planning.edit(chat, 2, " better ")) == ["a", "better"]
    request = pb.EditTodosRequest(
        name=f"sessions/{chat}", edits=[pb.TodoEdit(index=1, text="x"), pb.TodoEdit(index=1, text="y")]
    )
    async with refused("INVALID_ARGUMENT"):
        await planning.call("EditTodos", request)
    assert (await planning.plan(chat)).version == before.version + 1


async def test_limits_are_exact_and_name_themselves(planning: Planning, chat: str) -> None:
    for _ in range(4):
        await planning.add(chat, *["s" * 500] * 50)
    async with refused("TOO_MANY_STEPS") as caught:
        await planning.add(chat, "one more")
    assert caught.value.metadata["limit"] == "200"
    async with refused("INVALID_ARGUMENT") as caught:
        await planning.edit(chat, 1, "s" * 501)
    assert caught.value.metadata == {"field": "edits[0].text", "limit": "500"}
    async with refused("INVALID_ARGUMENT"):
        await planning.add(chat, *["x"] * 51)
    assert len((await planning.plan(chat)).steps) == 200


async def test_depth_ends_at_32(planning: Planning, chat: str) -> None:
    await planning.add(chat, "0")
    for depth in range(32):
        await planning.add(chat, str(depth + 1), under=depth + 1)
    async with refused("TOO_DEEP"):
        await planning.add(chat, "33", under=33)
    await planning.add(chat, "top")
    async with refused("TOO_DEEP"):
        await planning.move(chat, 1, parent_index=34)


async def test_a_repeat_does_it_once_and_answers_the_plan_as_it_is(planning: Planning, chat: str) -> None:
    request_id = new_id("req")
    await planning.add(chat, "a", request_id=request_id)
    now = await planning.add(chat, "b")
    assert await planning.add(chat, "a", request_id=request_id) == now
    async with refused("REQUEST_ID_REUSED"):
        await planning.add(chat, "other", request_id=request_id)


async def test_an_unknown_session_is_not_found(planning: Planning) -> None:
    nobody = new_id("ses")
    for call in (planning.plan(nobody), planning.add(nobody, "x"), planning.restore(nobody, 0), planning.graph(nobody)):
        async with refused("SESSION_NOT_FOUND"):
            await call
    async with refused("INVALID_NAME"):
        await planning.plan("not-an-id")
