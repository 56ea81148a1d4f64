"""Text search follows every change of the text; what is typed is never an operator (design/threads.md, section 6)."""

from __future__ import annotations

import orjson
import pytest

from services.kernel.errors import Invalid
from tests.integration.threads.client import Client, told
from tests.integration.threads.test_lists import all_pages
from treadle.threads.v1 import thread_service_pb2 as pb


async def found(threads: Client, said: str, **fields: object) -> list[str]:
    """Ids, newest first."""
    return await all_pages(threads, 200, q=said, **fields)


async def test_title_description_items_and_intent_are_found_by_the_beginning_of_words(threads: Client) -> None:
    items = [pb.ContextItem(id="i", label="Rechnung", payload_json=orjson.dumps({"a": ["STRASSE 12"], "n": 7}))]
    thread = await threads.create("Call the Plumber", description="the tap leaks_badly", context_items=items)
    await threads.create("Something else")
    for said in ("plumb", "PLUMBER call", "leaks", "badly tap", "rechn", "Straße 12", "plumber rechnung"):
        assert await found(threads, said) == [thread.id], said
    assert await found(threads, "lumber") == []
    job = await threads.take()
    await threads.complete(job, {"payload": {"intent": "repair faucet"}, "confidence": 0.5})
    assert await found(threads, "faucet") == [thread.id]
    assert await found(threads, "faucet rechnung plumber") == [thread.id]


async def test_search_follows_a_rename(threads: Client) -> None:
    items = [pb.ContextItem(id="i", label="Rechnung")]
    thread = await threads.create("Before", context_items=items)
    await told(threads.people.RenameThread(pb.RenameThreadRequest(name=thread.name, title="After")))
    assert (await found(threads, "before"), await found(threads, "after rechnung")) == ([], [thread.id])


@pytest.mark.parametrize(
    "said", ["%", "_", "' or 1=1", "& | !", ":*", "<->", "\\", "'", "((", "%all", "c%l", "c_l", "!c & x"]
)
async def test_nothing_in_a_search_is_an_operator_or_a_wildcard(threads: Client, said: str) -> None:
    await threads.create("call")
    assert await found(threads, said) == []
    assert len(await found(threads, "!call")) == len(await found(threads, "'call':*")) == 1


async def test_a_search_that_is_too_long_or_has_a_nul_is_refused(threads: Client) -> None:
    for said in ("x" * 201, "a\x00b"):
        with pytest.raises(Invalid) as refused:
            await found(threads, said)
        assert refused.value.metadata["field"] == "q"


async def test_very_long_texts_can_be_stored_and_found(threads: Client) -> None:
    payload = orjson.dumps(" ".join(f"w{number:05d}𝔁𝔂𝔃" for number in range(3000)))
    thread = await threads.create(
        "x" * 200, description="ü" * 20_000, context_items=[pb.ContextItem(payload_json=payload)]
    )
    assert await found(threads, "x" * 200) == [thread.id]
    assert await found(threads, "w02999") == [thread.id]


async def test_filters_of_state_urgency_and_later_hold_for_lists_and_searches_and_bind_the_token(
    threads: Client,
) -> None:
    now = await threads.create("call one")
    later = await threads.create("call two", urgency="defer")
    hidden = await threads.create("call three")
    await told(threads.people.DeferThread(pb.DeferThreadRequest(name=hidden.name, hours=1)))
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=later.name)))
    for said in ({}, {"q": "call"}):
        assert await all_pages(threads, 1, **said) == [hidden.id, later.id, now.id]
        assert await all_pages(threads, 1, urgency="defer", **said) == [later.id]
        assert await all_pages(threads, 1, show_later=False, **said) == [later.id, now.id]
        assert await all_pages(threads, 1, show_later=True, **said) == [hidden.id, later.id, now.id]
        assert await all_pages(threads, 1, state=[pb.Thread.STATE_DISMISSED], **said) == [later.id]
    page = await told(threads.people.ListThreads(pb.ListThreadsRequest(page_size=1, q="call")))
    for other in ({"q": "cal"}, {"q": "call", "urgency": "defer"}, {"q": "call", "show_later": False}, {}):
        with pytest.raises(Invalid):
            await told(threads.people.ListThreads(pb.ListThreadsRequest(page_token=page.next_page_token, **other)))
    with pytest.raises(Invalid):
        await told(threads.people.ListThreads(pb.ListThreadsRequest(urgency="soon")))


async def test_pub24_search_pages_are_exact_while_rows_come_in_between(threads: Client) -> None:
    made = [(await threads.create(f"call {number}")).id for number in range(12)]
    first = await told(threads.people.ListThreads(pb.ListThreadsRequest(page_size=5, q="call")))
    await threads.create("call in between")
    rest = pb.ListThreadsRequest(page_size=200, q="call", page_token=first.next_page_token)
    ids = [one.id for one in first.threads] + [one.id for one in (await told(threads.people.ListThreads(rest))).threads]
    assert ids == made[::-1]
