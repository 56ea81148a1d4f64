"""Facts of workers and plans: in the feeds, and as `worker_result` on the coordinator's stream (S.4, C.4)."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from services.kernel import jetstream
from services.kernel.bus import Bus
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.kernel.relay import EVENT_ID
from tests.integration.streaming.agent_runner import running
from tests.integration.streaming.client import Frame, Listener, Streaming, body
from tests.integration.streaming.conftest import StartReplica
from tests.integration.streaming.facts import payload, plan, tell, worker
from tests.integration.streaming.test_external import close_turn, open_turn
from tests.integration.streaming.test_turns import prompt
from tests.nats_server import NatsServer
from treadle.streaming.v1 import feed_service_pb2 as feeds
from treadle.streaming.v1 import session_service_pb2 as pb

SECRET = "ZX-SECRET-7"


def of_workers(streaming: Streaming, name: str, cursor: str = "") -> Listener:
    return Listener(streaming.feeds.SubscribeWorkers(feeds.SubscribeWorkersRequest(name=name, last_event_id=cursor)))


def results(frames: list[Frame]) -> list[dict[str, Any]]:
    return [body(frame) for frame in frames if frame.event == "worker_result"]


async def test_a_coordinators_feed_has_its_workers_and_the_tenants_has_all(
    streaming: Streaming, database: Database, bus: Bus
) -> None:
    one, two = await streaming.session(), await streaming.session()
    mine, theirs = one.partition("/")[2], two.partition("/")[2]
    fact = worker(mine, brief=SECRET, result=SECRET, late=1)
    async with streaming.of_tenant() as tenant:
        reader = of_workers(streaming, one)
        await reader.level()
        told = await tell(
            database, bus, worker(theirs), fact, payload(new_id("thr"), 1), plan(mine, text=SECRET), worker(mine)
        )
        await tenant.until(lambda it: sum(f.event != "session" for f in it.frames) == 5)
        frames = await reader.heard(2)
        assert [(f.event, body(f)["event_id"]) for f in frames] == [("worker", told[1]), ("worker", told[4])]
        shown = {name: value for name, value in fact.items() if name not in ("brief", "result")}
        assert body(frames[0]) == {**shown, "late": False}  # only true is true
        assert all(SECRET.encode() not in frame.data for frame in (*tenant.frames, *frames))
        (planned,) = [frame for frame in tenant.frames if frame.event == "plan"]
        assert body(planned) == plan(mine, event_id=told[3])
        await reader.close()
    again, later = of_workers(streaming, one), of_workers(streaming, one, frames[0].id)
    assert [body(f)["event_id"] for f in await again.level()] == [told[1], told[4]]
    assert [body(f)["event_id"] for f in await later.level()] == [told[4]]
    for listener in (again, later):
        await listener.close()
    unknown = of_workers(streaming, "sessions/" + new_id("ses"))
    await unknown.ended.wait()
    assert "NOT_FOUND" in str(unknown.error and unknown.error.code())


async def test_every_end_of_a_worker_is_told_on_its_coordinators_stream_once(
    streaming: Streaming, start_replica: StartReplica, database: Database, bus: Bus
) -> None:
    await start_replica()  # both take facts
    name = await streaming.session(adapter="external")
    mine = name.partition("/")[2]
    ends = [worker(mine, name=f"w{n}", late=n % 2 == 1, text=SECRET) for n in range(20)]
    others = [worker(mine, kind="running"), worker(new_id("ses")), worker("x-1234"), worker(mine, kind="noted")]
    async with streaming.listening(name) as reader:
        await open_turn(streaming, name)
        await tell(database, bus, *others[:2], *ends, *others[2:])
        for end in ends[:5]:  # a relay that repeats itself
            subject = f"domain.default.{mine}.coordination.worker"
            await jetstream.publish(bus, subject, orjson.dumps(end), {EVENT_ID: end["event_id"]}, 5)
        await reader.until(lambda one: len(results(one.frames)) >= 20)
        await close_turn(streaming, name, "done")
        await reader.until(lambda one: [body(f).get("state") for f in one.frames if f.event == "turn"][-1:] == ["idle"])
        told = {one["worker_id"]: one for one in results(reader.frames)}
        assert len(results(reader.frames)) == 20
        assert reader.ids == [f"1-{n}" for n in range(1, len(reader.ids) + 1)]
    for end in ends:
        assert told[end["worker_id"]] == {
            "worker_id": end["worker_id"],
            "name": end["name"],
            "status": "succeeded",
            "reason": "completed",
            "has_result": True,
            "partial": False,
            "late": end["late"],
        }


async def test_who_tells_a_deleted_coordinator_tells_nobody_and_others_are_told_after_it(
    streaming: Streaming, database: Database, bus: Bus
) -> None:
    gone, name = await streaming.session(), await streaming.session()
    ids = [gone.partition("/")[2], name.partition("/")[2]]
    await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=ids[:1]))
    async with streaming.listening(name) as reader:
        await tell(database, bus, worker(ids[0]), worker(ids[1]))
        await reader.until(lambda one: len(results(one.frames)) == 1)
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT count(*) FROM session_outbox WHERE name = 'worker_result'") == 1


async def test_an_end_while_the_bus_is_away_is_told_when_it_is_back(
    streaming: Streaming, database: Database, bus: Bus, nats_server: NatsServer
) -> None:
    name = await streaming.session()
    await nats_server.kill()
    await tell(database, bus, *(worker(name.partition("/")[2], name=f"w{n}") for n in range(3)))
    await nats_server.start()
    async with asyncio.timeout(60), streaming.listening(name) as reader:
        await reader.until(lambda one: len(results(one.frames)) == 3, 50)
        assert {one["name"] for one in results(reader.frames)} == {"w0", "w1", "w2"}


async def test_deleting_a_session_in_a_turn_tells_that_the_turn_was_aborted(streaming: Streaming) -> None:
    name = await streaming.session(adapter="external")
    turn = await open_turn(streaming, name)
    async with streaming.of_tenant() as feed:
        ids = [name.partition("/")[2]]
        await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=ids))
        await feed.until(lambda one: body(one.frames[-1])["kind"] == "deleted" if one.frames else False)
        ends = [(body(f)["kind"], body(f)["from"], body(f)["to"], body(f)["outcome"]) for f in feed.frames[-2:]]
        assert ends == [("turn", "running", "idle", "aborted"), ("deleted", "running", "running", "")]
        assert [body(f)["turn_id"] for f in feed.frames[-2:]] == [turn, turn]


async def test_every_end_of_a_turn_is_a_fact_with_its_turn_and_outcome(start_impatient: StartReplica) -> None:
    streaming = await start_impatient()
    names = {end: await streaming.session() for end in ("ok", "aborted", "provider_error", "child_exit", "runner_lost")}
    async with running(streaming) as runner, streaming.of_tenant() as feed:
        turns, held = {}, {}
        for end, name in names.items():
            turns[end] = await prompt(streaming, name)
            held[end] = await runner.take()
            await held[end].command("prompt")
        await held["ok"].settle(turns["ok"], final_text="x")
        await held["aborted"].settle(turns["aborted"], "aborted")
        await held["provider_error"].settle(turns["provider_error"], "failed", code="provider_error")
        await held["child_exit"].exit()
        runner.silence()
        unclaimed = await streaming.session(adapter="nobodys")
        turns["start_failed"] = await prompt(streaming, unclaimed)
        await feed.until(lambda one: len(_ends(one)) == len(turns), 30)
        assert _ends(feed) == {
            turn: ("running", "idle" if end in ("ok", "aborted") else "failed", end) for end, turn in turns.items()
        }


def _ends(feed: Listener) -> dict[str, tuple[str, str, str]]:
    facts = [body(frame) for frame in feed.frames if body(frame)["kind"] == "turn"]
    return {
        one["turn_id"]: (one["from"], one["to"], one["outcome"]) for one in facts if one["to"] in ("idle", "failed")
    }
