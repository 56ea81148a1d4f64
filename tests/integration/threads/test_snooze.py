"""The end of a snooze is an event, written once by whichever replica comes first."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from services.threads.domain.states import State
from tests.integration.threads.client import INFERENCE, Client, told, until
from tests.integration.threads.conftest import StartThreads
from treadle.threads.v1 import thread_service_pb2 as pb


async def laters(threads: Client, name: str) -> list[dict[str, object]]:
    """The data of the events of kind `later`."""
    return [data for kind, data in await threads.events(name) if kind == "later"]


async def snooze(threads: Client, name: str, seconds: float) -> pb.Decision:
    """Hides a thread for so long."""
    request = pb.DeferThreadRequest(name=name, hours=seconds / 3600)
    return await told(threads.people.DeferThread(request))


async def test_a_snooze_ends_once_with_two_replicas_and_the_thread_is_back(start_threads: StartThreads) -> None:
    one, other = await start_threads(), await start_threads()
    cards = [await one.to_gate() for _ in range(3)]
    for card in cards:
        await snooze(one, card.name, 0.3)
    assert not (await told(one.people.ListInbox(pb.ListInboxRequest()))).threads

    async def back() -> bool:
        return (await told(other.people.ListInbox(pb.ListInboxRequest()))).total_size == 3

    await until(back)

    async def recorded() -> bool:
        return all([len(await laters(one, card.name)) == 2 for card in cards])

    await until(recorded)
    await asyncio.gather(*(asyncio.create_task(threads.claim(INFERENCE, wait=0.3)) for threads in (one, other)))
    for card in cards:
        hidden, shown = await laters(other, card.name)
        assert (hidden.get("resurfaced"), shown["resurfaced"]) == (None, True)
        after = await one.get(card.name)
        assert (after.state, after.has_been_later) == (card.state, True)
        assert not after.HasField("resurface_at")


async def test_a_thread_that_ends_while_snoozed_does_not_come_back(threads: Client) -> None:
    card = await threads.to_gate()
    await snooze(threads, card.name, 0.2)
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=card.name)))
    other = await threads.to_gate()
    await snooze(threads, other.name, 0.2)

    async def recorded() -> bool:
        return len(await laters(threads, other.name)) == 2

    await until(recorded)
    assert len(await laters(threads, card.name)) == 1
    assert await threads.state(card.name) == State.DISMISSED


async def test_a_snooze_may_be_moved_before_it_ends(threads: Client) -> None:
    card = await threads.to_gate()
    await snooze(threads, card.name, 0.5)
    until_when = datetime.now(UTC) + timedelta(hours=1)
    request = pb.DeferThreadRequest(name=card.name)
    request.resurface_at.FromDatetime(until_when)
    await told(threads.people.DeferThread(request))
    await threads.claim(INFERENCE, wait=1.0)
    assert len(await laters(threads, card.name)) == 2
    assert not (await told(threads.people.ListInbox(pb.ListInboxRequest()))).threads
