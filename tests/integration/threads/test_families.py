"""Families over a real channel: spawning, the cascade up and down, the hoist (design/threads.md, section 7.4)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from services.kernel.errors import Invalid, NotAllowed
from services.kernel.postgres import Database
from services.threads.adapters.stored import verify
from tests.integration.threads.client import Client, told
from tests.integration.threads.family import (
    GROUP,
    SINGULAR,
    child,
    children_of,
    dismiss,
    family,
    finish,
    hand_off,
    kinds,
    moves,
)
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


async def test_a_family_is_spawned_whole_and_in_order(threads: Client) -> None:
    umbrella = await family(threads, child("one"), child("two"), pb.ChildInput(title="three"))
    assert umbrella.state == pb.Thread.STATE_MONITORING
    assert (umbrella.sub_thread_count, umbrella.open_children) == (3, 3)
    listed = await children_of(threads, umbrella.name)
    assert [(one.title, one.ordinal) for one in listed] == [("one", 0), ("two", 1), ("three", 2)]
    assert [one.state for one in listed] == [
        pb.Thread.STATE_AWAITING_CONFIRMATION,
        pb.Thread.STATE_AWAITING_CONFIRMATION,
        pb.Thread.STATE_AWAITING_INFERENCE,
    ]
    assert all(list(one.path) == [umbrella.id] for one in listed)
    assert await kinds(threads, umbrella.name) == ["thread_created", "subthreads_spawned", "state_transition"]
    assert [action.host_title for action in umbrella.actions] == ["one", "two"]


@pytest.mark.parametrize(
    ("ends", "becomes"),
    [
        (("dismiss", "dismiss"), "dismissed"),
        (("dismiss", "finish"), "done"),
        (("finish", "finish"), "done"),
        (("dismiss", "hand_off"), "done"),
    ],
)
async def test_golden_9_a_singular_umbrella_ends_as_its_children_did(
    threads: Client, ends: tuple[str, str], becomes: str
) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    for end, card in zip(ends, await children_of(threads, umbrella.name), strict=True):
        assert await threads.state(umbrella.name) == "monitoring"
        match end:
            case "dismiss":
                await dismiss(threads, card.name)
            case "hand_off":
                await hand_off(threads, card.name)
            case _:
                await finish(threads, card)
    assert await threads.state(umbrella.name) == becomes
    assert (await kinds(threads, umbrella.name)).count("subthread_terminal_reported") == 2
    assert (await moves(threads, umbrella.name))[1:] == [("execution_done", becomes)]
