"""The inbox: every fact of another service takes effect once, over kills of NATS, a database that is away, replicas and
streams that are made anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg
import pytest

from services.engines import Engines
from services.kernel import inbox, jetstream, streams
from services.kernel.bus import Bus
from services.kernel.errors import Conflict, Unavailable
from services.kernel.ids import new_id
from services.kernel.inbox import Fact, Inbox, subject_of
from services.kernel.jetstream import Draft
from services.kernel.postgres import Database, Tx
from services.kernel.relay import EVENT_ID
from tests.conftest import MakeDatabase
from tests.database_away import away
from tests.nats_server import NatsServer

SUBJECTS = (subject_of("streaming", "session"), subject_of("threads", "thread"))


@pytest.fixture
async def url(make_database: MakeDatabase) -> str:
    """A database with an inbox, and a table in which effects are counted."""
    url = await make_database("coordination")
    raw = await asyncpg.connect(url)
    await raw.execute("CREATE TABLE effects (event_id text, n bigint)")
    await raw.close()
    return url


Replica = Callable[..., Awaitable[Database]]


@pytest.fixture
def replica(url: str, nats_url: str, stack: AsyncExitStack) -> Replica:
    """Starts one replica of the consumer `test`, with its own pool and connection."""

    async def start(
        handle: Callable[[Tx, Fact], Awaitable[None]] | None = None,
        after: Callable[[], Awaitable[None]] | None = None,
        consumer: str = "test",
    ) -> Database:
        database = await Database.open(url, "inbox")
        stack.push_async_callback(database.close)
        own = await Bus.connect(nats_url, "inbox")
        stack.push_async_callback(own.close)
        await stack.enter_async_context(running(Inbox(database, own, consumer, SUBJECTS, handle or effect, after)))
        return database

    return start


@asynccontextmanager
async def running(one: Inbox) -> AsyncIterator[None]:
    task = asyncio.create_task(one.run())
    try:
        yield
    finally:
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), ended


async def effect(tx: Tx, fact: Fact) -> None:
    """Remembers the fact once more, without any guard of its own."""
    await tx.raw.execute("INSERT INTO effects VALUES ($1, $2)", fact.event_id, fact.payload["n"])


async def ensure(bus: Bus, epoch: int = 1) -> None:
    async def count() -> int:
        return epoch

    await streams.ensure_domain(bus, count)


def draft(n: int, event_id: str = "", type: str = "streaming.session") -> Draft:
    return Draft(f"domain.default.s1.{type}", b'{"n": %d}' % n, {EVENT_ID: event_id or new_id("evt")})


async def publish(bus: Bus, *drafts: Draft) -> None:
    for one in drafts:
        while True:
            try:
                await jetstream.publish(bus, one.subject, one.data, dict(one.headers), timeout=2)
                break
            except (Unavailable, jetstream.Refused):
                await asyncio.sleep(0.05)  # NATS is being killed: what is doubled here is what the inbox is for


async def counted(database: Database) -> list[int]:
    async with database.connection() as tx:
        return [row["n"] for row in await tx.raw.fetch("SELECT n FROM effects ORDER BY n")]


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.03)


async def effects_are(database: Database, wanted: list[int]) -> None:
    async def all_there() -> bool:
        return len(await counted(database)) >= len(wanted)

    await until(all_there)
    assert await counted(database) == wanted


async def all_acknowledged(bus: Bus, consumer: str = "test") -> bool:
    try:
        info = await jetstream.api(bus, f"CONSUMER.INFO.DOMAIN.{consumer}")
    except (jetstream.Refused, Unavailable):
        return False  # it is not there yet, or NATS has just been killed
    return bool(info["num_pending"] == 0 and info["num_ack_pending"] == 0)


async def test_a_new_consumer_begins_with_everything_that_is_stored(bus: Bus, replica: Replica) -> None:
    await ensure(bus)
    await publish(bus, *(draft(n) for n in range(40)), draft(98, type="planning.plan"))
    database = await replica()
    await publish(bus, draft(40, type="threads.thread"), draft(99, type="streaming.other"))
    await effects_are(database, list(range(41)))
    await until(lambda: all_acknowledged(bus))
    assert await counted(database) == list(range(41)), "others' types are not taken"


async def test_the_handler_gets_what_was_published_and_after_follows_the_commit(bus: Bus, replica: Replica) -> None:
    await ensure(bus)
    seen: list[Fact] = []
    told: list[int] = []

    async def handle(tx: Tx, fact: Fact) -> None:
        seen.append(fact)
        await effect(tx, fact)

    async def after() -> None:
        told.append(len(await counted(database)))

    database = await replica(handle, after)
    await publish(bus, draft(1, "evt_1"), draft(1, "evt_1"))
    await until(lambda: all_acknowledged(bus))
    await effects_are(database, [1])
    assert seen == [Fact("default", "s1", "streaming", "session", "evt_1", {"n": 1})]
    assert told == [1], "once: the second delivery had no effect"


async def test_it_waits_for_a_stream_that_is_not_there_yet(bus: Bus, replica: Replica) -> None:
    database = await replica()
    await asyncio.sleep(0.1)
    await ensure(bus)
    await publish(bus, draft(1))
    await effects_are(database, [1])


async def test_a_stream_made_anew_sends_again_what_had_its_effect(bus: Bus, replica: Replica) -> None:
    await ensure(bus)
    drafts = [draft(n) for n in range(5)]
    database = await replica()
    await publish(bus, *drafts)
    await effects_are(database, list(range(5)))
    await jetstream.api(bus, "STREAM.DELETE.DOMAIN")
    await asyncio.sleep(0.1)
    await ensure(bus, 2)
    await publish(bus, *drafts, draft(5))
    await effects_are(database, list(range(6)))
    await until(lambda: all_acknowledged(bus))
    assert await counted(database) == list(range(6))


async def test_a_consumer_deleted_under_it_is_made_again(bus: Bus, replica: Replica) -> None:
    await ensure(bus)
    database = await replica()
    await publish(bus, draft(1))
    await effects_are(database, [1])
    await jetstream.api(bus, "CONSUMER.DELETE.DOMAIN.test")
    await publish(bus, draft(2))
    await effects_are(database, [1, 2])


async def test_two_replicas_share_the_work_over_kills_of_nats(
    bus: Bus, nats_server: NatsServer, replica: Replica
) -> None:
    await ensure(bus)
    database = await replica()
    await replica()
    writing = asyncio.create_task(publish(bus, *(draft(n) for n in range(300))))
    for _ in range(3):
        await asyncio.sleep(0.15)
        await nats_server.kill()
        await nats_server.start()
    await writing
    await until(lambda: all_acknowledged(bus), 60)
    assert sorted(set(await counted(database))) == list(range(300))
    async with database.connection() as tx:
        doubled = await tx.raw.fetch("SELECT event_id FROM effects GROUP BY event_id HAVING count(*) > 1")
    assert doubled == []


async def test_facts_are_kept_while_the_database_is_away(
    bus: Bus, replica: Replica, servers: Engines, url: str
) -> None:
    await ensure(bus)
    database = await replica()
    await publish(bus, draft(1))
    await effects_are(database, [1])
    async with away(servers, url):
        await publish(bus, *(draft(n) for n in range(2, 20)))
        await asyncio.sleep(0.19)
    await effects_are(database, list(range(1, 20)))
    await until(lambda: all_acknowledged(bus))


async def test_a_faulty_fact_holds_up_no_other_and_takes_effect_when_it_can(bus: Bus, replica: Replica) -> None:
    await ensure(bus)
    faults: list[int] = []

    async def handle(tx: Tx, fact: Fact) -> None:
        await effect(tx, fact)
        if fact.payload["n"] == 3 and len(faults) < 2:
            faults.append(3)
            raise RuntimeError("a bug")

    database = await replica(handle)
    await publish(bus, *(draft(n) for n in range(10)))
    await effects_are(database, [0, 1, 2, 4, 5, 6, 7, 8, 9])
    await effects_are(database, list(range(10)))
    await until(lambda: all_acknowledged(bus))
    assert faults == [3, 3]


async def test_a_contended_fact_is_tried_again(bus: Bus, replica: Replica) -> None:
    await ensure(bus)
    lost: list[int] = []

    async def handle(tx: Tx, fact: Fact) -> None:
        await effect(tx, fact)
        if not lost:
            lost.append(1)
            raise Conflict("CONTENDED", "others are changing the same thing right now")

    database = await replica(handle)
    await publish(bus, draft(1))
    await until(lambda: all_acknowledged(bus))
    await effects_are(database, [1])


async def test_what_is_no_fact_is_told_of_and_left(bus: Bus, replica: Replica) -> None:
    await ensure(bus)
    database = await replica()
    bad = [Draft("domain.default.s1.streaming.session", data, {EVENT_ID: "evt_x"}) for data in (b"{", b"[]", b"")]
    await publish(bus, *bad, Draft("domain.default.s1.streaming.session", b"{}"), draft(1))
    await effects_are(database, [1])
    await until(lambda: all_acknowledged(bus))


async def test_a_delivery_that_nobody_acknowledged_comes_to_another_replica(
    bus: Bus, replica: Replica, url: str
) -> None:
    await ensure(bus)
    stuck = asyncio.Event()
    freed = asyncio.Event()

    async def hang(tx: Tx, fact: Fact) -> None:
        stuck.set()
        await freed.wait()

    async with AsyncExitStack() as doomed:
        database = await Database.open(url, "doomed")
        doomed.push_async_callback(database.close)
        await doomed.enter_async_context(running(Inbox(database, bus, "test", SUBJECTS, hang)))
        await publish(bus, draft(1))
        await stuck.wait()
    survivor = await replica()
    await effects_are(survivor, [1])


async def test_old_rows_are_forgotten(bus: Bus, replica: Replica, url: str) -> None:
    await ensure(bus)
    raw = await asyncpg.connect(url)
    await raw.execute("INSERT INTO inbox VALUES ('test', 'old', now() - $1::interval)", inbox.KEPT * 1.01)
    await raw.execute("INSERT INTO inbox VALUES ('test', 'young', now() - $1::interval)", inbox.KEPT * 0.9)

    async def forgotten() -> bool:
        rows = await raw.fetch("SELECT event_id FROM inbox")
        return [row["event_id"] for row in rows] == ["young"]

    await replica()
    await until(forgotten)
    await raw.close()
