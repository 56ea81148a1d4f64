"""Any sequence of edits, turns, branches (of branches of branches) and deletes does what a model says in which every
session has a full copy of everything: what sessions share is never seen (I6, C6's laws, C8-27)."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.kernel.postgres import Database
from services.planning.adapters.work import PostgresWorkshop
from services.planning.application import turning
from tests.emptied import emptied
from tests.integration.planning.copies import House
from tests.integration.planning.test_branches import counts

who = st.integers(0, 5)
at = st.integers(1, 6)
key = st.sampled_from(["x", "y", "z"])
text = st.sampled_from(["", "text", "more"])
OPS = st.one_of(
    st.tuples(st.just("turn"), who),
    st.tuples(st.just("turn"), who),
    st.tuples(st.just("again"), who),
    st.tuples(st.just("end"), who),
    st.tuples(st.just("add"), who, st.integers(0, 5)),
    st.tuples(st.just("toggle"), who, at),
    st.tuples(st.just("remove"), who, at),
    st.tuples(st.just("move"), who, at, st.integers(0, 5)),
    st.tuples(st.just("reorder"), who, st.integers(0, 100)),
    st.tuples(st.just("pick"), who, who),
    st.tuples(st.just("aim"), who, st.sampled_from(["", "goal", "other"])),
    st.tuples(st.just("put"), who, key, text),
    st.tuples(st.just("write"), who, key, text),
    st.tuples(st.just("drop"), who, key),
    st.tuples(st.just("lock"), who, key, st.booleans()),
    st.tuples(st.just("tell"), who),
    st.tuples(st.just("branch"), who, st.integers(0, 4)),
    st.tuples(st.just("branch"), who, st.integers(0, 4)),
    st.tuples(st.just("delete"), who),
)


@settings(
    max_examples=60,
    print_blob=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(ops=st.lists(OPS, min_size=5, max_size=40))
async def test_any_sequence_is_as_if_everything_were_copied(
    database: Database, workshop: PostgresWorkshop, ops: list[tuple[Any, ...]]
) -> None:
    await emptied(database, "families", "branches")
    house = House(database, workshop)
    await house.open()
    for op in ops:
        await house.do(op)
    await house.check()
    for chat in list(house.chats):
        async with workshop.work() as work:
            await turning.delete(work, "acme", chat.id, "user:ada", house.clock.now())
    left = await counts(database)
    assert {name: left[name] for name in left if name != "branches"} == dict.fromkeys(
        (name for name in left if name != "branches"), 0
    )
