"""The inbox: its rank, exact pages, and many decisions in one call (design/threads.md, section 0.12)."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import asyncpg
import orjson
import pytest

from services.kernel.errors import AlreadyExists, Invalid
from tests.integration.threads.client import EXECUTION, Client, citation, state_name, told
from treadle.threads.v1 import thread_service_pb2 as pb


def item(card: pb.Thread, decision: str = "", *, cite: bool = True) -> pb.CitedProposal:
    """A line of a batch."""
    return pb.CitedProposal(thread_id=card.id, decision=decision, **(citation(card) if cite else {}))


async def decide(threads: Client, *items: pb.CitedProposal, request_id: str = "") -> list[pb.ItemOutcome]:
    """The outcomes of one call."""
    request = pb.DecideInboxRequest(items=items, request_id=request_id)
    return list((await told(threads.people.DecideInbox(request))).results)


async def inbox(threads: Client, size: int = 200) -> list[str]:
    """Every id, page by page."""
    ids: list[str] = []
    token = ""
    while True:
        page = await told(threads.people.ListInbox(pb.ListInboxRequest(page_size=size, page_token=token)))
        ids += [thread.id for thread in page.threads]
        if not (token := page.next_page_token):
            return ids


async def test_every_item_of_a_batch_has_its_own_outcome_in_order(threads: Client) -> None:
    first, second, third, fourth = [await threads.to_gate() for _ in range(4)]
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=third.name)))
    results = await decide(
        threads,
        item(first),
        item(second, "reject"),
        item(third),
        item(fourth, "dismiss"),
        pb.CitedProposal(thread_id="thr_none"),
        item(await threads.to_gate(), cite=False),
    )
    assert [(result.ok, result.code, state_name(result.state)) for result in results] == [
        (True, "", "executing"),
        (True, "", "dismissed"),
        (False, "ALREADY_DECIDED", "dismissed"),
        (True, "", "dismissed"),
        (False, "THREAD_NOT_FOUND", "unspecified"),
        (False, "PROPOSAL_NOT_CITED", "unspecified"),
    ]
    assert [result.thread_id for result in results[:2]] == [first.id, second.id]
    assert len(await threads.claim(EXECUTION, wait=0, most=9)) == 1


async def test_a_repeated_batch_replays_what_took_effect_and_decides_nothing_twice(threads: Client) -> None:
    cards = [await threads.to_gate() for _ in range(3)]
    batch = [item(card) for card in cards]
    once = await decide(threads, *batch, request_id="again")
    events = [(await threads.get(card.name)).etag for card in cards]
    assert await decide(threads, *batch, request_id="again") == once
    assert [(await threads.get(card.name)).etag for card in cards] == events
    other = await decide(threads, *batch)
    assert [result.code for result in other] == ["ALREADY_DECIDED"] * 3
    with pytest.raises(AlreadyExists):
        await decide(threads, *batch[:2], request_id="again")


async def test_pub01_two_batches_over_the_same_threads_approve_each_once(threads: Client) -> None:
    cards = [await threads.to_gate() for _ in range(5)]
    runs = await asyncio.gather(*(decide(threads, *(item(card) for card in cards)) for _ in range(6)))
    for number in range(5):
        assert sum(results[number].ok for results in runs) == 1
    assert len(await threads.claim(EXECUTION, wait=0, most=32)) == 5


async def test_a_batch_that_is_empty_too_long_or_unreadable_is_refused_whole(threads: Client) -> None:
    card = await threads.to_gate()
    for items in ([], [item(card)] * 201, [item(card), item(card, "perhaps")]):
        with pytest.raises(Invalid):
            await decide(threads, *items)
    assert await threads.state(card.name) == "awaiting_confirmation"


async def rewrite(connection: asyncpg.Connection, card: pb.Thread, since: datetime, *ancestors: str) -> None:
    """A row as if it had come to wait at `since` under these ancestors."""
    doc = orjson.loads(await connection.fetchval("SELECT doc FROM threads WHERE id = $1", card.id))
    doc |= {"since": since.isoformat(), "path": list(ancestors)}
    await connection.execute(
        "UPDATE threads SET since = $2, path = $3, parent_id = $4, doc = $5 WHERE id = $1",
        card.id,
        since,
        list(ancestors),
        ancestors[-1] if ancestors else None,
        orjson.dumps(doc).decode(),
    )


async def test_pub24_rank_is_age_and_what_waits_behind_and_its_pages_are_exact(
    threads: Client, database_url: str
) -> None:
    cards = [await threads.to_gate() for _ in range(6)]
    noon = cards[0].create_time.ToDatetime().astimezone()
    connection = await asyncpg.connect(database_url)
    try:
        for card in cards[:3]:
            await rewrite(connection, card, noon)
        await rewrite(connection, cards[3], noon - timedelta(minutes=90))
        await rewrite(connection, cards[4], noon, cards[0].id, cards[1].id)
        await rewrite(connection, cards[5], noon, cards[0].id)
    finally:
        await connection.close()
    ranked = [cards[number].id for number in (4, 3, 5, 0, 1, 2)]
    for size in (1, 2, 5, 200):
        assert await inbox(threads, size) == ranked
    page = await told(threads.people.ListInbox(pb.ListInboxRequest(page_size=200)))
    assert [thread.waiting_behind for thread in page.threads] == [2, 0, 1, 0, 0, 0]
