"""The outbox and its relay: each fact once, in order, over kills of everything (How facts travel 1, PUB06)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import asyncpg
import pytest

from services.kernel import jetstream, streams
from services.kernel.bus import Bus
from services.kernel.errors import Invalid, TooLarge, Unavailable
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.kernel.relay import Relay
from tests.integration.streaming.facts import enqueue, payload, stored_ids, tell
from tests.nats_server import NatsServer


async def count(epoch: int = 1) -> int:
    return epoch


@asynccontextmanager
async def relaying(database: Database, bus: Bus, poll: float = 0.1) -> AsyncIterator[asyncio.Task[None]]:
    """A relay that is started again when it fails, as the house's supervisor does."""

    async def supervised() -> None:
        while True:
            with suppress(Unavailable, jetstream.Refused):
                await Relay(database, bus, "streaming", poll=poll).run()
            await asyncio.sleep(0.02)

    task = asyncio.create_task(supervised())
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(holds: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():  # type: ignore[misc]
            await asyncio.sleep(0.02)


async def unsent(database: Database) -> int:
    async with database.connection() as tx:
        return int(await tx.raw.fetchval("SELECT count(*) FROM outbox WHERE sent_seq IS NULL"))


async def all_sent(database: Database) -> bool:
    return await unsent(database) == 0


async def test_facts_arrive_once_in_order_with_their_sequences_noted(database: Database, bus: Bus) -> None:
    await streams.ensure_domain(bus, count)
    thread = new_id("thr")
    async with relaying(database, bus):
        ids = await tell(database, bus, *(payload(thread, n) for n in range(450)))
        await until(lambda: all_sent(database))
    assert await stored_ids(bus) == ids
    async with database.connection() as tx:
        rows = await tx.raw.fetch("SELECT event_id, sent_seq FROM outbox ORDER BY id")
    noted = {row["event_id"]: row["sent_seq"] for row in rows}
    stored = [one async for chunk in jetstream.read_from(bus, streams.DOMAIN, "domain.*.*.*.*", 1) for one in chunk]
    assert [noted[one.headers["Treadle-Event"]] for one in stored] == [one.seq for one in stored]


async def test_pub06_a_commit_that_comes_late_is_relayed_too(database: Database, bus: Bus) -> None:
    await streams.ensure_domain(bus, count)
    async with relaying(database, bus):
        async with database.transaction() as slow:
            late = await enqueue(slow, payload(new_id("thr"), 1))
            early = await tell(database, bus, payload(new_id("thr"), 1))
            await until(lambda: _has(bus, early[0]))
        await until(lambda: _has(bus, late))
    assert await stored_ids(bus) == [*early, late]


async def _has(bus: Bus, event_id: str) -> bool:
    return event_id in await stored_ids(bus)


async def test_facts_wait_until_there_is_a_stream(database: Database, bus: Bus) -> None:
    async with relaying(database, bus):
        ids = await tell(database, bus, payload(new_id("thr"), 1))
        await asyncio.sleep(0.15)
        assert await unsent(database) == 1
        await streams.ensure_domain(bus, count)
        await until(lambda: all_sent(database))
    assert await stored_ids(bus) == ids


async def test_a_stream_made_anew_gets_everything_again_in_a_new_epoch(database: Database, bus: Bus) -> None:
    await streams.ensure_domain(bus, count)
    async with relaying(database, bus):
        ids = await tell(database, bus, *(payload(new_id("thr"), 1) for _ in range(5)))
        await until(lambda: all_sent(database))
        await jetstream.api(bus, "STREAM.DELETE.DOMAIN")
        await streams.ensure_domain(bus, lambda: count(2))
        await until(lambda: _has(bus, ids[-1]))
        await until(lambda: all_sent(database))
    assert await stored_ids(bus) == ids
    state = await streams.state_of(bus, streams.DOMAIN)
    assert state is not None
    assert state.epoch == 2


async def test_a_batch_whose_answer_was_lost_is_found_by_its_marker(database: Database, bus: Bus) -> None:
    await streams.ensure_domain(bus, count)
    relay = Relay(database, bus, "streaming")
    async with relaying(database, bus):
        await tell(database, bus, payload(new_id("thr"), 1))
        await until(lambda: all_sent(database))
    ids = await tell(database, bus, *(payload(new_id("thr"), 1) for _ in range(3)))
    assert await relay.turn() == 3
    async with database.connection() as tx:  # as if the leader had died between the answer and its commit
        await tx.raw.execute("UPDATE outbox SET sent_seq = NULL WHERE event_id = ANY($1)", ids)
        await tx.raw.execute("UPDATE relay SET last_seq = 1")
    assert await relay.turn() == 3
    assert await all_sent(database)
    assert (await stored_ids(bus))[-3:] == ids
    assert len(await stored_ids(bus)) == 4


async def test_two_leaders_and_kills_of_nats_relay_each_fact_once(
    database_url: str, nats_server: NatsServer, stack: AsyncExitStack, rounds: int
) -> None:
    chance = random.Random(2)
    writer = await Database.open(database_url, "writer")
    stack.push_async_callback(writer.close)
    bus = await Bus.connect(nats_server.url, "writer")
    stack.push_async_callback(bus.close)
    await streams.ensure_domain(bus, count)
    told: list[str] = []

    async def write(stop: asyncio.Event) -> None:
        while not stop.is_set():
            facts = [payload(new_id("thr"), 1) for _ in range(chance.randint(1, 40))]
            told.extend(await tell(writer, bus, *facts))
            await asyncio.sleep(chance.random() * 0.01)

    async def lead(stop: asyncio.Event) -> None:
        """A leader that loses its database connections and its life now and then."""
        while not stop.is_set():
            database = await Database.open(database_url, "leader")
            own = await Bus.connect(nats_server.url, "leader")
            async with relaying(database, own):
                with suppress(TimeoutError):
                    async with asyncio.timeout(chance.random() * 0.5):
                        await stop.wait()
            await own.close()
            await database.close()

    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(write(stop))
        for _ in range(2):
            group.create_task(lead(stop))
        for _ in range(max(2, rounds // 5)):
            await asyncio.sleep(chance.random() * 0.6)
            await nats_server.kill()
            await nats_server.start()
        stop.set()
    async with relaying(writer, bus):
        await until(lambda: all_sent(writer))
    stored = await stored_ids(bus)
    assert len(stored) == len(set(stored)) == len(told) > 100
    assert set(stored) == set(told)


async def test_what_no_subject_and_no_message_can_carry_is_refused(database: Database) -> None:
    async with database.transaction() as tx:
        with pytest.raises(TooLarge):
            await enqueue(tx, payload(new_id("thr"), 1, more="x" * 65_536))
        for tenant in ("*", ">", "a.b", "", "a b", "a\n"):
            with pytest.raises(Invalid):
                await enqueue(tx, payload(new_id("thr"), 1), tenant)
        with pytest.raises(Invalid):
            await enqueue(tx, payload("thr_*", 1, "*"))


async def test_an_event_is_written_once(database: Database) -> None:
    fact = payload(new_id("thr"), 1)
    with pytest.raises(asyncpg.UniqueViolationError):
        async with database.transaction() as tx:
            await enqueue(tx, fact)
            await enqueue(tx, fact)
