"""PUB03: fan-in happens exactly once when the last children end together, on two replicas; nobody deadlocks."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from services.kernel.errors import Refusal
from services.kernel.postgres import Database
from services.threads.adapters.stored import verify
from tests.integration.threads.client import EXECUTION, Client, citation, told
from tests.integration.threads.conftest import StartThreads
from tests.integration.threads.family import (
    SINGULAR,
    child,
    children_of,
    dismiss,
    family,
    hand_off,
    kinds,
    moves,
)
from treadle.threads.v1 import job_service_pb2
from treadle.threads.v1 import thread_service_pb2 as pb


async def executing(threads: Client, cards: list[pb.Thread]) -> list[job_service_pb2.Job]:
    """Every card approved, claimed and started."""
    await asyncio.gather(*(threads.accept(card.name, card) for card in cards))
    jobs: list[job_service_pb2.Job] = []
    while len(jobs) < len(cards):
        jobs += await threads.claim(EXECUTION, most=16)
    await asyncio.gather(*(threads.start(job) for job in jobs))
    return jobs


async def outcome(call: object) -> str:
    """`ok`, or the reason of the refusal."""
    try:
        await told(call)
    except Refusal as refusal:
        return refusal.reason
    return "ok"


async def sound(database_url: str) -> None:
    """Every invariant that the data can tell."""
    database = await Database.open(database_url, "test")
    try:
        assert await verify(database) == []
    finally:
        await database.close()


@pytest.mark.parametrize("count", [2, 10])
async def test_pub03_the_last_children_end_together(
    start_threads: StartThreads, rounds: int, count: int, database_url: str
) -> None:
    one, two = await start_threads(), await start_threads()
    for _ in range(rounds if count == 2 else max(1, rounds // 4)):
        umbrella = await family(one, *(child(str(number)) for number in range(count)))
        jobs = await executing(one, await children_of(one, umbrella.name))
        ends = [(one, two)[turn % 2].complete(job, {"success": True}) for turn, job in enumerate(jobs)]
        again = [(two, one)[turn % 2].complete(job, {"success": True}) for turn, job in enumerate(jobs)]
        await asyncio.gather(*ends, *again)
        assert await one.state(umbrella.name) == "done"
        assert (await moves(two, umbrella.name))[1:] == [("execution_done", "done")]
        assert (await kinds(two, umbrella.name)).count("subthread_terminal_reported") == count
    await sound(database_url)


async def test_pub03_two_levels_end_together(start_threads: StartThreads, rounds: int, database_url: str) -> None:
    one, two = await start_threads(), await start_threads()
    for _ in range(max(2, rounds // 2)):
        top = await family(one, child("leaf"))
        inner = [await family(one, child("a"), child("b"), parent_id=top.id) for _ in range(2)]
        cards = [(await children_of(one, top.name))[0]]
        for umbrella in inner:
            cards += await children_of(one, umbrella.name)
        jobs = await executing(one, cards)
        await asyncio.gather(*((one, two)[turn % 2].complete(job, {"success": True}) for turn, job in enumerate(jobs)))
        assert [await two.state(name) for name in (top.name, *(one.name for one in inner))] == ["done"] * 3
        assert (await moves(one, top.name)).count(("execution_done", "done")) == 1
    await sound(database_url)


async def test_opposite_orders_never_deadlock(start_threads: StartThreads, rounds: int, database_url: str) -> None:
    """Ends from below, closes from above, new children and approvals, all at once on one family of three levels."""
    one, two = await start_threads(), await start_threads()
    seen = Counter[str]()
    for _ in range(max(3, rounds // 4)):
        top = await family(one, *(child(str(number)) for number in range(4)))
        inner = [await family(one, *(child(str(n)) for n in range(4)), parent_id=top.id) for _ in range(2)]
        leaves = [*(await children_of(one, top.name))[:4]]
        for umbrella in inner:
            leaves += await children_of(one, umbrella.name)
        calls: list[object] = [dismiss((one, two)[turn % 2], card.name) for turn, card in enumerate(leaves[::2])]
        calls += [hand_off((two, one)[turn % 2], card.name) for turn, card in enumerate(leaves[::3])]
        calls += [one.people.AcceptThread(pb.AcceptThreadRequest(name=c.name, **citation(c))) for c in leaves[1::4]]
        spawn = pb.CreateFamilyRequest(
            relationship=SINGULAR, title="more", children=[child("x")], parent_id=inner[0].id
        )
        calls += [two.people.CreateFamily(spawn), dismiss(two, inner[0].name), dismiss(one, inner[1].name)]
        calls += [two.people.ForceCloseThread(pb.ForceCloseThreadRequest(name=top.name, cancel_executing=True))]
        async with asyncio.timeout(20):
            seen.update(await asyncio.gather(*map(outcome, calls)))
    assert seen["CONTENDED"] == 0, seen
    await sound(database_url)


async def test_a_hot_family_does_not_starve_the_others(start_threads: StartThreads) -> None:
    """Forty ends of one family at once, on a replica whose pool has four connections, and others' work goes on."""
    threads = await start_threads(pool_max=4, pool_min=1)
    umbrella = await family(threads, *(child(str(number)) for number in range(40)))
    jobs = await executing(threads, await children_of(threads, umbrella.name))
    hot = asyncio.gather(*(threads.complete(job, {"success": True}) for job in jobs))
    await asyncio.gather(*(threads.create() for _ in range(10)))
    await hot
    assert await threads.state(umbrella.name) == "done"
