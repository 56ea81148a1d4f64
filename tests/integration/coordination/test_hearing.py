"""What facts of sessions mean for workers: turns that end, sessions that are deleted; over real JetStream too (C.2)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from services.coordination.domain.worker import Kind, Status
from services.kernel import jetstream, streams
from services.kernel.bus import Bus
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.kernel.relay import EVENT_ID
from tests.integration.coordination.client import Coordination, spec
from tests.integration.coordination.conftest import Served
from tests.integration.coordination.parts import Parts
from tests.integration.coordination.rows import TENANT, coordinator, worker
from tests.integration.coordination.runner_client import Runner, facts, row_of, until
from tests.nats_server import NatsServer


async def test_an_aborted_turn_cancels_its_own_workers_alone(parts: Parts) -> None:
    of = coordinator()
    await parts.put(
        of,
        worker(of, "running"),
        worker(of, "other", spawned_by_turn="trn_2"),
        worker(of, "outside", kind=Kind.SESSION, status=Status.RUNNING, spawned_by_turn="", job_id=""),
    )
    await parts.take()
    await parts.put(of, worker(of, "queued"))
    await parts.turn_ends(of.session_id, "trn_1", "aborted")
    await parts.turn_ends(of.session_id, "trn_1", "aborted")
    queued, running = await parts.worker(of, "queued"), await parts.worker(of, "running")
    assert (queued.status, queued.reason, queued.late) == (Status.CANCELLED, "cancelled", True)
    assert (running.status, running.stop_reason) == (Status.RUNNING, "cancelled")
    assert (await parts.worker(of, "other")).stop_reason == ""
    assert (await parts.worker(of, "outside")).status is Status.RUNNING
    assert len(await facts(parts.database, "cancel_requested")) == 1


@pytest.mark.parametrize("outcome", ["ok", "truncated", "provider_error"])
async def test_a_turn_that_ends_otherwise_leaves_its_workers_and_makes_their_ends_late(
    parts: Parts, outcome: str
) -> None:
    of = coordinator()
    await parts.put(of, worker(of, "early"), worker(of, "late"))
    taken = await parts.take()
    await parts.running.complete(taken["early"].job.id, 1, "completed", "x", 0, "")
    parts.clock.go(1)
    await parts.turn_ends(of.session_id, "trn_1", outcome)
    parts.clock.go(1)
    await parts.running.complete(taken["late"].job.id, 1, "completed", "x", 0, "")
    assert [(await parts.worker(of, name)).late for name in ("early", "late")] == [False, True]


async def test_a_fact_that_comes_late_makes_ends_late_that_were_after_the_turn(parts: Parts) -> None:
    of = coordinator(auto_wake=True)
    await parts.put(of, worker(of, "alpha"))
    taken = await parts.take()
    ended_at = parts.clock.now().isoformat()
    parts.clock.go(1)
    await parts.running.complete(taken["alpha"].job.id, 1, "completed", "x", 0, "")
    assert not (await parts.worker(of, "alpha")).late
    await parts.hear(of.session_id, "turn", to="idle", turn_id="trn_1", outcome="ok", time=ended_at)
    assert (await parts.worker(of, "alpha")).late
    parts.clock.go(1)
    assert [due.session_id for due in await parts.errands.wakes(parts.clock.now(), 10)] == [of.session_id]


async def test_a_deleted_coordinator_takes_its_workers_with_it(parts: Parts) -> None:
    of = coordinator(auto_wake=True)
    await parts.put(of, worker(of, "running"))
    await parts.take()
    await parts.put(
        of,
        worker(of, "queued"),
        worker(of, "outside", kind=Kind.SESSION, status=Status.RUNNING, spawned_by_turn="", job_id=""),
    )
    await parts.hear(of.session_id, "deleted", to="idle")
    await parts.hear(of.session_id, "deleted", to="idle")
    got = {name: (await parts.worker(of, name)) for name in ("running", "queued", "outside")}
    assert {name: (one.status, one.stop_reason) for name, one in got.items()} == {
        "running": (Status.RUNNING, "cancelled"),
        "queued": (Status.CANCELLED, "cancelled"),
        "outside": (Status.CANCELLED, "cancelled"),
    }
    async with parts.workshop.work() as work:
        there = await work.coordinator(TENANT, of.session_id)
        assert there is not None
        assert there.deleted
        assert await work.session_deleted(TENANT, of.session_id)


async def test_a_worker_whose_session_is_deleted_is_interrupted_and_its_runner_fenced_off(parts: Parts) -> None:
    of = coordinator()
    outside = worker(of, "outside", kind=Kind.SESSION, status=Status.RUNNING, spawned_by_turn="", job_id="")
    await parts.put(of, worker(of, "alpha"), worker(of, "stopping"), outside)
    taken = await parts.take()
    async with parts.database.connection() as tx:
        await tx.raw.execute("UPDATE workers SET stop_reason = 'timeout' WHERE name = 'stopping'")
    for one in (taken["alpha"].worker, taken["stopping"].worker, outside):
        await parts.hear(one.session_id, "deleted", to="idle")
    got = {name: await parts.worker(of, name) for name in ("alpha", "stopping", "outside")}
    assert {name: (one.status, one.reason) for name, one in got.items()} == {
        "alpha": (Status.INTERRUPTED, "interrupted"),
        "stopping": (Status.FAILED, "timeout"),
        "outside": (Status.INTERRUPTED, "interrupted"),
    }
    assert (await row_of(parts.database, "alpha"))["job_state"] == "cancelled"


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"kind": "turn"},
        {"session_id": 7, "kind": "turn", "to": "idle", "turn_id": "t"},
        {"session_id": "s", "kind": "turn", "to": "running", "turn_id": "t"},
        {"session_id": "s", "kind": "turn", "to": "idle"},
        {"session_id": "s", "kind": "created", "to": "idle"},
        {"session_id": "s", "kind": "turn", "to": "idle", "turn_id": "t", "time": "yesterday"},
    ],
)
async def test_facts_that_mean_nothing_here_do_nothing(parts: Parts, payload: dict[str, Any]) -> None:
    of = coordinator("s")
    await parts.put(of, worker(of, "alpha", spawned_by_turn="t"))
    async with parts.workshop.work() as work:
        await parts.hearing.hear(work, TENANT, payload)
    assert (await parts.worker(of, "alpha")).status is Status.SPAWNING


async def tell(bus: Bus, session_id: str, **payload: str) -> str:
    """Publishes a fact as streaming's relay would; answers its id."""
    event_id = new_id("evt")
    body = {"event_id": event_id, "session_id": session_id, "kind": "turn", "from": "running", **payload}
    subject = f"domain.default.{session_id}.streaming.session"
    await jetstream.publish(bus, subject, orjson.dumps(body), {EVENT_ID: event_id})
    return event_id


async def first() -> int:
    return 1


async def test_over_the_stream_an_aborted_turn_cancels_workers_even_after_nats_was_killed(
    coordination: Coordination, chat: str, sessions: Served, bus: Bus, nats_server: NatsServer, database: Database
) -> None:
    await streams.ensure_domain(bus, first)
    turn = sessions.fake.sessions["default", chat].turns[-1].id
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    await nats_server.kill()
    await nats_server.start()
    runner = Runner(coordination.channel)
    (job,) = await runner.claim(most=1)

    async def reachable() -> bool:
        return bus.connected

    await until(reachable)
    event_id = await tell(bus, chat, to="idle", turn_id=turn, outcome="aborted", actor="user:ann")

    async def told() -> bool:
        return (await runner.beat(job)).cancel

    await until(told)
    await runner.complete(job, "interrupted")
    got = {one.name: one.reason for one in (await coordination.workers(chat)).threads}
    assert got == {"alpha": "cancelled", "beta": "cancelled"}
    assert {one["actor"] for one in await facts(database, "cancel_requested")} == {"user:ann"}
    async with database.connection() as tx:
        seen = await tx.raw.fetch("SELECT consumer FROM inbox WHERE event_id = $1", event_id)
    assert [row["consumer"] for row in seen] == ["coordination"]
