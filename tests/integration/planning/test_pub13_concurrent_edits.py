"""PUB13: concurrent edits of a plan neither lose nor resurrect steps, over two replicas with pools of their own."""

from __future__ import annotations

import asyncio

import pytest

from services.kernel.errors import Invalid, Refusal
from services.kernel.postgres import Database
from tests.integration.planning.client import Planning, refused, shape, texts
from tests.integration.planning.conftest import StartReplica


@pytest.fixture
async def two(start_replica: StartReplica) -> tuple[Planning, Planning]:
    """Two replicas."""
    return await start_replica(), await start_replica()


async def eight(planning: Planning) -> str:
    """A plan of eight."""
    chat = await planning.open()
    await planning.add(chat, *(f"s{at}" for at in range(1, 9)))
    return chat


async def test_pub13_a_six_toggles_at_once_are_six_toggles(two: tuple[Planning, Planning], rounds: int) -> None:
    for _ in range(max(1, rounds // 4)):
        chat = await eight(two[0])
        await asyncio.gather(*(two[at % 2].toggle(chat, at) for at in range(1, 7)))
        plan = await two[0].plan(chat)
        assert [one.done for one in plan.steps] == [True] * 6 + [False] * 2
        assert plan.version == 7


async def test_pub13_b_an_index_is_that_of_the_list_as_it_is_when_the_call_takes_effect(
    two: tuple[Planning, Planning], rounds: int
) -> None:
    for _ in range(max(1, rounds // 2)):
        chat = await eight(two[0])
        await asyncio.gather(two[0].toggle(chat, 3), two[1].add(chat, "inserted", under=1))
        plan = await two[0].plan(chat)
        assert sum(one.done for one in plan.steps) == 1
        assert texts(plan) == ["s1", "inserted", *(f"s{at}" for at in range(2, 9))]
        stale = await asyncio.gather(
            two[0].toggle(chat, 3, expected_version=plan.version),
            two[1].add(chat, "again", under=1, expected_version=plan.version),
            return_exceptions=True,
        )
        lost = [one for one in stale if isinstance(one, Refusal)]
        assert [one.reason for one in lost] == ["PLAN_CHANGED"]


@pytest.mark.parametrize("indices", [[0], [9], [-1], [], [1, 9], [2, 2, 0]])
async def test_pub13_c_any_bad_index_refuses_the_batch(planning: Planning, indices: list[int]) -> None:
    chat = await eight(planning)
    async with refused("INVALID_ARGUMENT") as caught:
        await planning.toggle(chat, *indices)
    assert isinstance(caught.value, Invalid)
    assert (await planning.plan(chat)).version == 1
    assert [one.done for one in (await planning.toggle(chat, 2, 2)).steps].count(True) == 1


async def test_pub13_d_twenty_appends_at_once_are_twenty_steps(
    two: tuple[Planning, Planning], database: Database
) -> None:
    chat = await eight(two[0])
    await asyncio.gather(*(two[at % 2].add(chat, f"n{at}") for at in range(20)))
    plan = await two[1].plan(chat)
    assert sorted(texts(plan)) == sorted([*(f"s{at}" for at in range(1, 9)), *(f"n{at}" for at in range(20))])
    assert [one.index for one in plan.steps] == list(range(1, 29))
    async with database.connection() as tx:
        rows = await tx.raw.fetch("SELECT position FROM steps WHERE session_id = $1 ORDER BY position", chat)
    assert [row["position"] for row in rows] == list(range(28))


async def test_pub13_e_an_order_with_a_doubled_missing_or_foreign_step_changes_nothing(planning: Planning) -> None:
    chat, other = await eight(planning), await eight(planning)
    before = await planning.plan(chat)
    ids = [one.id for one in before.steps]
    foreign = (await planning.plan(other)).steps[0].id
    for wrong in ([ids[0], *ids[:7]], ids[:7], [*ids[:7], foreign], [*ids, foreign], []):
        async with refused("INVALID_ARGUMENT") as caught:
            await planning.reorder(chat, wrong)
        assert isinstance(caught.value, Invalid)
    assert await planning.plan(chat) == before


async def test_removed_steps_do_not_come_back_and_nothing_is_doubled(two: tuple[Planning, Planning]) -> None:
    chat = await eight(two[0])
    ids = [one.id for one in (await two[0].plan(chat)).steps]
    done = await asyncio.gather(
        two[0].remove(chat, 1),
        two[1].remove(chat, 8),
        two[0].edit(chat, 4, "edited"),
        two[1].move(chat, 5, after_index=0),
        two[0].reorder(chat, list(reversed(ids))),
        two[1].add(chat, "new"),
        return_exceptions=True,
    )
    assert all(isinstance(one, Refusal) for one in done if isinstance(one, BaseException))
    plan = await two[0].plan(chat)
    assert len({one.id for one in plan.steps}) == len(plan.steps)
    assert plan.version == 1 + sum(not isinstance(one, BaseException) for one in done)
    assert len(shape(plan)) in (7, 8)
