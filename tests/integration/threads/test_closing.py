"""Downward: dismissing, handing off and force-closing an umbrella over its live descendants (sections 0.4, 0.5)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from services.kernel.errors import Conflict, NotAllowed
from services.kernel.postgres import Database
from services.threads.adapters.stored import verify
from tests.integration.threads.client import EXECUTION, INFERENCE, Client, told
from tests.integration.threads.family import child, children_of, dismiss, ended, family, finish, hand_off, kinds
from treadle.threads.v1 import thread_service_pb2 as pb


@pytest.fixture(autouse=True)
async def _all_is_sound(threads: Client, database_url: str) -> AsyncIterator[None]:
    """After each test every log makes its row and every count is right."""
    yield
    database = await Database.open(database_url, "test")
    try:
        assert await verify(database) == []
    finally:
        await database.close()


async def force_close(threads: Client, name: str, **fields: object) -> pb.ForceCloseThreadResponse:
    """Ends a thread with all below it."""
    return await told(threads.people.ForceCloseThread(pb.ForceCloseThreadRequest(name=name, **fields)))


async def three_levels(threads: Client) -> tuple[pb.Thread, pb.Thread, pb.Thread, list[pb.Thread], list[pb.Thread]]:
    """A grandparent, a parent in it with a sibling, and two children of each."""
    top = await family(threads, child("top"))
    outer = await family(threads, child("a"), child("b"), parent_id=top.id)
    inner = await family(threads, child("c"), child("d"), parent_id=outer.id)
    return top, outer, inner, (await children_of(threads, outer.name))[:2], await children_of(threads, inner.name)


async def test_golden_11_force_close_reaches_grandchildren_and_tells_the_grandparent(threads: Client) -> None:
    top, outer, inner, outers, inners = await three_levels(threads)
    await finish(threads, outers[0])
    closed = await force_close(threads, outer.name)
    assert closed.closed_parent == outer.id
    assert set(closed.cascaded) == {outers[1].id, inner.id, *(one.id for one in inners)}
    assert list(closed.cascaded).index(inner.id) >= 2
    assert closed.cascaded_count == 4
    assert await ended(threads, outers[0].name, outers[1].name, inner.name, inners[0].name, outer.name) == [
        "done",
        "dismissed",
        "dismissed",
        "dismissed",
        "dismissed",
    ]
    card = await threads.get(top.name)
    assert (card.state, card.open_children) == (pb.Thread.STATE_MONITORING, 1)
    assert (await kinds(threads, top.name)).count("subthread_terminal_reported") == 1
    log = await threads.events(outer.name)
    assert [kind for kind, _ in log].count("subthread_terminal_reported") == 3
    assert log[-1][1]["trigger"] == "parent_force_close"


@pytest.mark.parametrize("way", ["dismiss", "hand_off"])
async def test_an_umbrella_that_ends_takes_its_descendants_with_it(threads: Client, way: str) -> None:
    _, outer, inner, outers, inners = await three_levels(threads)
    await (dismiss(threads, outer.name) if way == "dismiss" else hand_off(threads, outer.name))
    states = await ended(threads, *(one.name for one in (inner, *outers, *inners)))
    assert set(states) == {"dismissed"}
    assert await threads.state(outer.name) == ("dismissed" if way == "dismiss" else "handed_off")


async def test_queued_work_below_is_cancelled_and_what_is_in_flight_is_fenced_off(threads: Client) -> None:
    umbrella = await family(threads, pb.ChildInput(title="queued"), pb.ChildInput(title="in flight"))
    job = await threads.take(INFERENCE)
    await dismiss(threads, umbrella.name)
    assert await threads.claim(wait=0) == []
    with pytest.raises(Conflict) as refused:
        await threads.complete(job, {"payload": {"intent": "late"}})
    assert refused.value.reason == "LEASE_LOST"


@pytest.mark.parametrize("way", ["force_close", "dismiss"])
async def test_an_executing_descendant_refuses_the_close_by_name_and_changes_nothing(threads: Client, way: str) -> None:
    top, outer, inner, _, inners = await three_levels(threads)
    await threads.accept(inners[0].name, inners[0])
    close = force_close if way == "force_close" else dismiss
    before = [await threads.events(one.name) for one in (top, outer, inner)]
    with pytest.raises(NotAllowed) as refused:
        await close(threads, outer.name)
    assert refused.value.reason == "DESCENDANT_EXECUTING"
    assert refused.value.metadata["threads"] == inners[0].id
    assert [await threads.events(one.name) for one in (top, outer, inner)] == before
    await close(threads, outer.name, cancel_executing=True)
    assert await ended(threads, outer.name, inners[0].name) == ["dismissed", "dismissed"]
    assert await threads.claim(EXECUTION, wait=0) == []


async def test_closing_a_child_by_force_ends_an_execution_and_reports_it(threads: Client) -> None:
    umbrella = await family(threads, child("one"))
    (card,) = await children_of(threads, umbrella.name)
    await threads.accept(card.name, card)
    job = await threads.take(EXECUTION)
    await threads.start(job)
    await force_close(threads, card.name, cancel_executing=True)
    assert await ended(threads, umbrella.name, card.name) == ["dismissed", "dismissed"]


async def test_an_etag_is_looked_at_before_anything_below_is_closed(threads: Client) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    await dismiss(threads, (await children_of(threads, umbrella.name))[0].name)
    with pytest.raises(Conflict) as refused:
        await dismiss(threads, umbrella.name, etag=umbrella.etag)
    assert refused.value.reason == "ETAG_MISMATCH"
    await dismiss(threads, umbrella.name, etag=(await threads.get(umbrella.name)).etag)


async def test_a_force_close_of_an_end_is_refused_and_a_repeat_answers_the_same(threads: Client) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    once = await force_close(threads, umbrella.name, request_id="once")
    assert await force_close(threads, umbrella.name, request_id="once") == once
    with pytest.raises((NotAllowed, Conflict)):
        await force_close(threads, umbrella.name)
