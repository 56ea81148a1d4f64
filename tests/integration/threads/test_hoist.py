"""The hoist (golden 17, design/threads.md sections 0.7, 4.10), large families, and reads of corrupt ones (PUB20)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import grpc
import pytest

from services.kernel.postgres import Database
from services.threads.adapters.stored import verify
from tests.integration.threads.client import EXECUTION, Client, citation, told
from tests.integration.threads.family import (
    GROUP,
    child,
    children_of,
    dismiss,
    explain,
    family,
    finish,
    hand_off,
)
from treadle.threads.v1 import thread_service_pb2 as pb


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A pool behind the service's back."""
    database = await Database.open(database_url, "test")
    yield database
    await database.close()


async def shown(threads: Client, name: str) -> list[tuple[str, str, bool]]:
    """The hoisted actions as (host, state, settled)."""
    actions = (await threads.get(name)).actions
    return [(action.host_title, action.state, action.settled) for action in actions]


async def test_golden_17_pending_first_settled_last_never_by_time(threads: Client) -> None:
    umbrella = await family(threads, *(child(title) for title in "abcde"), pb.ChildInput(title="no action yet"))
    cards = {card.title: card for card in await children_of(threads, umbrella.name)}
    assert await shown(threads, umbrella.name) == [(title, "pending", False) for title in "abcde"]
    await finish(threads, cards["b"])
    await dismiss(threads, cards["a"].name)
    await threads.accept(cards["d"].name, cards["d"])
    edit = pb.EditThreadRequest(name=cards["c"].name, action_overrides_json=b'{"task_text": "touched"}')
    await told(threads.people.EditThread(edit))
    assert await shown(threads, umbrella.name) == [
        ("c", "pending", False),
        ("d", "executing", False),
        ("e", "pending", False),
        ("a", "rejected", True),
        ("b", "done", True),
    ]
    await threads.execute(success=False)
    await hand_off(threads, cards["e"].name)
    assert await shown(threads, umbrella.name) == [
        ("c", "pending", False),
        ("a", "rejected", True),
        ("b", "done", True),
        ("d", "failed", True),
        ("e", "done", True),
    ]


async def test_golden_17_a_nested_action_is_hosted_by_the_thread_that_owns_it(threads: Client) -> None:
    outer = await family(threads, child("first"))
    inner = await family(threads, child("deep"), parent_id=outer.id)
    (deep,) = await children_of(threads, inner.name)
    action = (await threads.get(outer.name)).actions[1]
    assert (action.host_thread_id, action.host_title, action.state) == (deep.id, "deep", "pending")
    assert action.host_state == pb.Thread.STATE_AWAITING_CONFIRMATION
    cited = {"proposal_id": action.proposal_id, "proposal_digest": action.proposal_digest}
    await threads.accept(f"threads/{action.host_thread_id}", **cited)
    assert await shown(threads, outer.name) == [("first", "pending", False), ("deep", "executing", False)]
    assert await shown(threads, inner.name) == [("deep", "executing", False)]


async def test_golden_17_group_and_leaf_do_not_hoist_and_an_own_action_has_no_host(threads: Client) -> None:
    columns = await family(threads, child("one"), relationship=GROUP)
    assert not (await threads.get(columns.name)).actions
    (leaf,) = await children_of(threads, columns.name)
    (action,) = leaf.actions
    assert (action.host_thread_id, action.HasField("settled")) == ("", False)


async def test_a_redirected_action_stays_until_the_next_one_is_there(threads: Client) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    one, _ = await children_of(threads, umbrella.name)
    redirect = pb.RedirectActionRequest(name=one.name, feedback="otherwise", **citation(one))
    await told(threads.people.RedirectAction(redirect))
    first, second = (await threads.get(umbrella.name)).actions
    assert (first.host_title, first.state, first.host_state) == ("one", "pending", pb.Thread.STATE_AWAITING_INFERENCE)
    assert second.proposal_id
    await threads.infer({"kind": "standard", "name": "task_create", "parameters": {"task_text": "otherwise"}})
    first, _ = (await threads.get(umbrella.name)).actions
    assert (first.revision, first.host_state) == (2, pb.Thread.STATE_AWAITING_CONFIRMATION)


async def test_a_cleared_proposal_is_not_hoisted(threads: Client) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    one, _ = await children_of(threads, umbrella.name)
    await told(threads.people.SetActionProposal(pb.SetActionProposalRequest(name=one.name)))
    assert await shown(threads, umbrella.name) == [("two", "pending", False)]


async def test_five_thousand_children(threads: Client, database: Database) -> None:
    began = time.perf_counter()
    umbrella = await family(threads, *(child(str(number)) for number in range(5_000)))
    assert time.perf_counter() - began < 15
    assert umbrella.hoisted_count == umbrella.sub_thread_count == 5_000
    assert 1_000 < len(umbrella.actions) <= 5_000
    card = await threads.get(umbrella.name)
    assert card.ByteSize() < 4 * 1024 * 1024
    cards = (await told(threads.people.ListSubThreads(pb.ListSubThreadsRequest(name=umbrella.name)))).threads
    assert [one.ordinal for one in cards] == list(range(50))
    await finish(threads, cards[7])
    told_why = await explain(threads, umbrella.name)
    assert (told_why.waits_for_count, len(told_why.waits_for)) == (4_999, 50)
    await dismiss(threads, umbrella.name)
    card = await threads.get(umbrella.name)
    assert dict(card.sub_thread_state_counts) == {"dismissed": 4_999, "done": 1}
    assert await threads.state(umbrella.name) == "dismissed"
    assert await verify(database) == []


async def test_pub20_a_cycle_that_sql_made_ends_reads_with_an_error(threads: Client, database: Database) -> None:
    top = await family(threads, child("one"))
    below = await family(threads, child("two"), parent_id=top.id)
    (hanging,) = await children_of(threads, below.name)
    async with database.connection() as tx:
        await tx.raw.execute("UPDATE threads SET parent_id = $2, path = ARRAY[$2] WHERE id = $1", top.id, below.id)
    people = threads.people
    for name in (top.name, below.name, hanging.name):
        for call in (
            people.GetThread(pb.GetThreadRequest(name=name)),
            people.ExplainThread(pb.ExplainThreadRequest(name=name)),
            people.ListSubThreads(pb.ListSubThreadsRequest(name=name)),
            people.ListThreadEvents(pb.ListThreadEventsRequest(name=name)),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                async with asyncio.timeout(5):
                    await call
            assert failed.value.code() is grpc.StatusCode.INTERNAL
            assert top.id not in (failed.value.details() or "")
    faults = await verify(database)
    assert any("ancestors" in fault for fault in faults)


async def test_pub20_no_call_changes_a_parent(threads: Client) -> None:
    umbrella = await family(threads, child("one"))
    (card,) = await children_of(threads, umbrella.name)
    fields = {field.name for message in pb.DESCRIPTOR.message_types_by_name.values() for field in message.fields}
    assert {"parent_id", "parent", "new_parent_id"} & fields == {"parent_id"}
    takes = [
        name
        for name, message in pb.DESCRIPTOR.message_types_by_name.items()
        if name.endswith("Request") and "parent_id" in message.fields_by_name
    ]
    assert sorted(takes) == ["CreateFamilyRequest", "ListThreadsRequest"]
    await finish(threads, card)
    assert (await threads.get(card.name)).parent_id == umbrella.id
    assert await threads.claim(EXECUTION, wait=0) == []
