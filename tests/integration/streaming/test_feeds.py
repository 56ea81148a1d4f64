"""Feeds of facts: a tenant's, and a family's, with one cursor for both (S.4)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import orjson

from services.kernel import jetstream, streams
from services.kernel.bus import Bus
from services.kernel.grpc_errors import refusal_from
from services.kernel.ids import new_id
from services.kernel.jetstream import Draft
from services.kernel.postgres import Database
from services.kernel.relay import EVENT_ID
from tests.integration.streaming.client import Frame, Listener, Streaming, body
from tests.integration.streaming.conftest import StartReplica
from tests.integration.streaming.facts import payload, tell
from tests.nats_server import NatsServer
from tests.unit.kernel_streams.test_cursors import MALFORMED
from treadle.streaming.v1 import feed_service_pb2 as feeds
from treadle.streaming.v1 import session_service_pb2 as pb


def event_ids(frames: list[Frame]) -> list[str]:
    return [body(frame)["event_id"] for frame in frames]


async def test_a_family_is_one_feed_and_any_member_gives_its_descendants(
    streaming: Streaming, database: Database, bus: Bus
) -> None:
    root, child, grandchild, stranger = (new_id("thr") for _ in range(4))
    async with (
        streaming.of_tenant() as tenant,
        streaming.of_thread(root) as family,
        streaming.of_thread(child) as branch,
        streaming.of_thread(grandchild) as leaf,
    ):
        told = await tell(
            database,
            bus,
            payload(root, 1),
            payload(stranger, 1),
            payload(child, 1, root),
            payload(grandchild, 1, root, child),
            payload(root, 2),
        )
        await tenant.heard(5)
        assert event_ids(tenant.frames) == told
        await family.heard(4)
        assert event_ids(family.frames) == [told[0], told[2], told[3], told[4]]
        await branch.heard(2)
        assert event_ids(branch.frames) == [told[2], told[3]]
        await leaf.heard(1)
        assert event_ids(leaf.frames) == [told[3]]
        by_event = {body(frame)["event_id"]: frame.id for frame in tenant.frames}
        assert all(frame.id == by_event[body(frame)["event_id"]] for frame in family.frames + leaf.frames)
    # What was live is read again from the stream, and cursors of one feed are good in the other.
    async with streaming.of_thread(root) as again, streaming.of_thread(root, by_event[told[1]]) as later:
        assert event_ids(await again.level()) == [told[0], told[2], told[3], told[4]]
        assert event_ids(await later.level()) == [told[2], told[3], told[4]]


async def test_a_fact_is_told_thin_and_by_an_allow_list(streaming: Streaming, database: Database, bus: Bus) -> None:
    thread = new_id("thr")
    fact = payload(thread, 7, result="ZX-SECRET-7", feedback="ZX-SECRET-7")
    async with streaming.of_tenant() as reader:
        await tell(database, bus, fact)
        (frame,) = await reader.heard(1)
    assert body(frame) == {
        "event_id": fact["event_id"],
        "thread_id": thread,
        "root_id": thread,
        "seq": 7,
        "kind": "state_transition",
        "from": "awaiting_inference",
        "to": "done",
        "trigger": "execute",
        "actor": "user:local",
        "time": fact["time"],
    }
    assert b"ZX-SECRET-7" not in frame.data
    assert frame.event == "thread"


async def test_another_tenants_facts_are_not_heard(streaming: Streaming, database: Database, bus: Bus) -> None:
    mine, theirs = payload(new_id("thr"), 1), payload(new_id("thr"), 1)
    async with streaming.of_tenant() as reader, streaming.of_thread(theirs["thread_id"]) as spy:
        await tell(database, bus, theirs, tenant="other")
        await tell(database, bus, mine)
        await reader.heard(1)
        assert event_ids(reader.frames) == [mine["event_id"]]
    async with streaming.of_thread(theirs["thread_id"]) as later:
        assert await later.level() == []
    assert spy.frames == []


async def test_a_repeated_event_is_told_once(streaming: Streaming, bus: Bus) -> None:
    fact, last = payload(new_id("thr"), 1), payload(new_id("thr"), 1)
    async with streaming.of_tenant() as reader:
        await reader.level()
        for one in (fact, fact, last):
            draft = Draft(f"domain.default.{one['root_id']}.threads.thread", orjson.dumps(one))
            await jetstream.publish(bus, draft.subject, draft.data, {EVENT_ID: one["event_id"]})
        await reader.heard(2)
        assert event_ids(reader.frames) == [fact["event_id"], last["event_id"]]
    async with streaming.of_tenant() as later:
        assert event_ids(await later.level()) == [fact["event_id"], last["event_id"]]


CURSORS = [
    ("", None),
    *((text, "malformed") for text in [*MALFORMED, "5"]),  # a feed has never had plain integers
    ("9-1", "generation"),
    ("1-99999", "ahead"),
]


async def test_pub05_a_feed_honours_every_cursor_or_tells(streaming: Streaming, database: Database, bus: Bus) -> None:
    told = await tell(database, bus, *(payload(new_id("thr"), 1) for _ in range(5)))
    async with streaming.of_tenant() as first:
        await first.heard(5)
    async with AsyncExitStack() as stack:
        heard = [await stack.enter_async_context(streaming.of_tenant(cursor)) for cursor, _ in CURSORS]
        for reader, (_, reset) in zip(heard, CURSORS, strict=True):
            await reader.heard(5 + (reset is not None))
        told += await tell(database, bus, payload(new_id("thr"), 1))
        for reader, (cursor, reset) in zip(heard, CURSORS, strict=True):
            frames = list(await reader.heard(6 + (reset is not None)))
            if reset is not None:
                frame = frames.pop(0)
                assert (frame.event, frame.id, body(frame)["reason"]) == ("reset", "", reset), cursor
            assert event_ids(frames) == told, cursor


async def test_pub05_what_was_trimmed_from_the_head_is_a_gap(
    streaming: Streaming, start_replica: StartReplica, database: Database, bus: Bus
) -> None:
    told = await tell(database, bus, *(payload(new_id("thr"), 1) for _ in range(10)))
    async with streaming.of_tenant() as reader:
        ids = [frame.id for frame in await reader.heard(10)]
    await jetstream.api(bus, "STREAM.PURGE.DOMAIN", {"seq": int(ids[5].split("-")[1])})
    other = await start_replica()  # one that does not hold it in its ring
    async with other.of_tenant(ids[2]) as late, other.of_tenant(ids[4]) as exact:
        gap, *rest = await late.level()
        assert body(gap) == {"reason": "gap", "oldest_id": ids[5]}
        assert event_ids(rest) == told[5:]
        assert event_ids(await exact.level()) == told[5:]


async def test_pub06_readers_live_through_kills_of_nats(
    streaming: Streaming, database: Database, bus: Bus, nats_server: NatsServer
) -> None:
    told: list[str] = []
    async with streaming.of_tenant() as reader:
        await reader.level()
        for _ in range(3):
            told += await tell(database, bus, *(payload(new_id("thr"), 1) for _ in range(20)))
            await nats_server.kill()
            told += await tell(database, bus, *(payload(new_id("thr"), 1) for _ in range(20)))
            await nats_server.start()
        await reader.heard(120, seconds=30)
        assert event_ids(reader.frames) == told
        numbers = [int(one.split("-")[1]) for one in reader.ids]
        assert numbers == sorted(set(numbers))


async def test_a_lost_stream_is_told_and_everything_comes_again(
    streaming: Streaming, database: Database, bus: Bus
) -> None:
    told = await tell(database, bus, *(payload(new_id("thr"), 1) for _ in range(3)))
    async with streaming.of_tenant() as reader:
        last = (await reader.heard(3))[-1].id
        await jetstream.api(bus, "STREAM.DELETE.DOMAIN")
        await asyncio.wait_for(reader.ended.wait(), 15)
    async with streaming.of_tenant(last) as again:
        reset, *rest = await again.heard(4)
        assert body(reset)["reason"] == "generation"
        assert event_ids(rest) == told
        assert {frame.id.split("-")[0] for frame in rest} == {"2"}
    state = await streams.state_of(bus, streams.DOMAIN)
    assert state is not None
    assert state.epoch == 2


async def test_two_replicas_tell_the_same(start_replica: StartReplica, database: Database, bus: Bus) -> None:
    one, two = await start_replica(), await start_replica()
    thread = new_id("thr")
    async with one.of_thread(thread) as first, two.of_thread(thread) as second:
        await first.level()
        await second.level()
        await tell(database, bus, *(payload(thread, n) for n in range(50)))
        assert list(await first.heard(50)) == list(await second.heard(50))
        middle = first.ids[24]
    async with two.of_thread(thread, middle) as resumed:
        assert list(await resumed.heard(25)) == first.frames[25:]


async def test_unknown_sessions_are_refused_and_a_thread_that_nobody_knows_is_level_until_there_is_one(
    streaming: Streaming, database: Database, bus: Bus
) -> None:
    deleted = await streaming.session()
    ids = [deleted.removeprefix("sessions/")]
    await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=ids))
    for name in (f"sessions/{new_id('ses')}", deleted):
        of_workers = Listener(streaming.feeds.SubscribeWorkers(feeds.SubscribeWorkersRequest(name=name)))
        async with streaming.listening(name) as of_session:
            for reader in (of_session, of_workers):
                async with asyncio.timeout(30):
                    await reader.ended.wait()
                assert reader.error is not None
                refusal = refusal_from(reader.error)
                assert refusal is not None
                assert (refusal.reason, reader.frames) == ("SESSION_NOT_FOUND", [])
        await of_workers.close()
    thread = new_id("thr")
    async with streaming.of_thread(thread) as reader:
        assert await reader.level() == []
        told = await tell(database, bus, payload(thread, 1))
        assert event_ids(await reader.heard(1)) == told
