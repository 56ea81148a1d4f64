"""Lists, the inbox, the log and the catalogue: exact pages, and nothing that cannot be read back (PUB23, PUB24)."""

from __future__ import annotations

import asyncio

import asyncpg
import orjson
import pytest

from services.kernel.errors import AlreadyExists, Invalid
from tests.integration.threads.client import Client, told, until
from treadle.threads.v1 import catalog_service_pb2 as catalogue_pb
from treadle.threads.v1 import thread_service_pb2 as pb


async def all_pages(threads: Client, size: int, **fields: object) -> list[str]:
    """Every id of ListThreads, page by page."""
    ids: list[str] = []
    token = ""
    while True:
        request = pb.ListThreadsRequest(page_size=size, page_token=token, **fields)  # type: ignore[arg-type]
        page = await told(threads.people.ListThreads(request))
        ids += [thread.id for thread in page.threads]
        token = page.next_page_token
        if not token:
            return ids


async def test_pub24_pages_are_exact_while_rows_come_in_between(threads: Client) -> None:
    made = [(await threads.create(str(number))).id for number in range(25)]
    first = await told(threads.people.ListThreads(pb.ListThreadsRequest(page_size=10)))
    await threads.create("in between")
    rest = pb.ListThreadsRequest(page_size=200, page_token=first.next_page_token)
    ids = [thread.id for thread in first.threads]
    ids += [thread.id for thread in (await told(threads.people.ListThreads(rest))).threads]
    assert ids == made[::-1]
    assert len(await all_pages(threads, 7)) == 26


async def test_pub24_a_token_of_another_list_or_filter_is_refused(threads: Client) -> None:
    for number in range(3):
        await threads.create(str(number))
    page = await told(threads.people.ListThreads(pb.ListThreadsRequest(page_size=1)))
    for request in (
        pb.ListThreadsRequest(page_token=page.next_page_token, state=[pb.Thread.STATE_DONE]),
        pb.ListThreadsRequest(page_token="tampered"),
        pb.ListThreadsRequest(page_size=-1),
    ):
        with pytest.raises(Invalid):
            await told(threads.people.ListThreads(request))
    with pytest.raises(Invalid):
        await told(threads.people.ListInbox(pb.ListInboxRequest(page_token=page.next_page_token)))


async def test_lists_filter_by_state(threads: Client) -> None:
    thread = await threads.create()
    await threads.create()
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=thread.name)))
    assert await all_pages(threads, 10, state=[pb.Thread.STATE_DISMISSED]) == [thread.id]


async def test_pub23_large_cards_come_in_smaller_pages(threads: Client) -> None:
    payload = orjson.dumps({"text": "y" * 60_000})
    items = [pb.ContextItem(id=f"i{number}", payload_json=payload) for number in range(8)]
    for number in range(9):
        await threads.create(str(number), context_items=items)
    page = await told(threads.people.ListThreads(pb.ListThreadsRequest(page_size=100)))
    assert 0 < len(page.threads) < 9
    assert len(await all_pages(threads, 100)) == 9
    log = await told(threads.people.ListThreadEvents(pb.ListThreadEventsRequest(name=page.threads[0].name)))
    assert len(log.events) == 2


async def test_the_inbox_shows_what_waits_longest_first_and_hides_what_is_deferred(threads: Client) -> None:
    cards = [await threads.to_gate() for _ in range(3)]
    await threads.create("not for a person yet")
    inbox = await told(threads.people.ListInbox(pb.ListInboxRequest(page_size=2)))
    assert ([thread.id for thread in inbox.threads], inbox.total_size) == ([card.id for card in cards[:2]], 3)
    more = pb.ListInboxRequest(page_size=2, page_token=inbox.next_page_token)
    assert [thread.id for thread in (await told(threads.people.ListInbox(more))).threads] == [cards[2].id]
    decision = await told(threads.people.DeferThread(pb.DeferThreadRequest(name=cards[0].name, hours=1)))
    assert decision.resurface_at.seconds > decision.decision_time.seconds
    inbox = await told(threads.people.ListInbox(pb.ListInboxRequest()))
    assert [thread.id for thread in inbox.threads] == [card.id for card in cards[1:]]


@pytest.mark.parametrize("hours", [0.0, -1.0, 8785.0, float("nan"), float("inf")])
async def test_hours_out_of_range_are_refused(threads: Client, hours: float) -> None:
    thread = await threads.create()
    with pytest.raises(Invalid) as refused:
        await told(threads.people.DeferThread(pb.DeferThreadRequest(name=thread.name, hours=hours)))
    assert refused.value.metadata["field"] == "hours"


async def test_the_log_is_paged_by_seq(threads: Client) -> None:
    card = await threads.to_gate()
    request = pb.ListThreadEventsRequest(name=card.name, page_size=4)
    seqs: list[int] = []
    while True:
        page = await told(threads.people.ListThreadEvents(request))
        seqs += [event.seq for event in page.events]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert seqs == list(range(1, int(card.etag) + 1))


async def test_explain_says_who_is_waited_for_and_what_would_move_it(threads: Client) -> None:
    card = await threads.to_gate()
    told_of = await told(threads.people.ExplainThread(pb.ExplainThreadRequest(name=card.name)))
    assert (told_of.waits_on, "accept" in told_of.moves) == ("person", True)
    assert "task_create" in told_of.summary


async def test_the_catalogue_lists_built_in_and_registered_actions(threads: Client) -> None:
    schema = orjson.dumps({"type": "object", "properties": {"to": {"type": "string"}}})
    registration = catalogue_pb.ActionRegistration(
        capability_name="send_letter", category="post", parameters_schema_json=schema
    )
    for _ in range(2):
        await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=registration)))
    listed = (await told(threads.catalogue.ListActions(catalogue_pb.ListActionsRequest()))).actions
    names = [action.capability_name for action in listed]
    assert [(action.category, action.capability_name) for action in listed] == sorted(
        (action.category, action.capability_name) for action in listed
    )
    assert names.count("send_letter") == 1
    assert {action.capability_name for action in listed if action.universal} == {
        "thread_dismiss",
        "thread_defer",
        "thread_rename",
    }


@pytest.mark.parametrize(
    "registration",
    [
        catalogue_pb.ActionRegistration(capability_name="Bad Name"),
        catalogue_pb.ActionRegistration(capability_name="x", parameters_schema_json=b'{"type": "string"}'),
        catalogue_pb.ActionRegistration(capability_name="x", parameters_schema_json=b'{"type": "nothing"}'),
        catalogue_pb.ActionRegistration(capability_name="x", available_in=["everywhere"]),
        catalogue_pb.ActionRegistration(capability_name="task_create"),
    ],
)
async def test_a_registration_that_cannot_stand_is_refused(
    threads: Client, registration: catalogue_pb.ActionRegistration
) -> None:
    with pytest.raises((Invalid, AlreadyExists)):
        await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=registration)))


async def test_a_schema_never_reaches_for_the_network(threads: Client) -> None:
    registration = catalogue_pb.ActionRegistration(
        capability_name="remote",
        parameters_schema_json=b'{"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/s.json"}}}',
    )
    await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=registration)))
    thread = await threads.create()
    pick = pb.SetActionProposalRequest(name=thread.name, capability_name="remote", parameters_json=b'{"a": 1}')
    with pytest.raises(Invalid):
        await told(threads.people.SetActionProposal(pick))


async def test_facts_tell_names_and_states_only(threads: Client, database_url: str) -> None:
    card = await threads.to_gate(title="ZX-SECRET-7", description="ZX-SECRET-7")
    connection = await asyncpg.connect(database_url)
    rows = await connection.fetch("SELECT scope, type, payload FROM outbox ORDER BY id")
    await connection.close()
    facts = [orjson.loads(row["payload"]) for row in rows]
    assert [fact["seq"] for fact in facts] == list(range(1, int(card.etag) + 1))
    assert {row["scope"] for row in rows} == {card.id}
    assert not [row for row in rows if b"ZX-SECRET-7" in row["payload"]]


async def test_a_drain_ends_long_polls(threads: Client) -> None:
    polling = asyncio.create_task(threads.claim(wait=30))

    async def polls() -> bool:
        return not polling.done()

    await until(polls)
    await asyncio.sleep(0.1)
    await threads.life.drain()
    assert await asyncio.wait_for(polling, 3) == []
