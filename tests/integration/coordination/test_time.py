"""Time that is over: of workers, and of stops that were not heeded. The clock is the test's."""

from __future__ import annotations

import pytest

from services.coordination.adapters.wake import Wake
from services.coordination.application.ending import SYSTEM
from services.coordination.application.running import Beat
from services.coordination.application.stopping import ask_stop
from services.coordination.domain.worker import Coordinator, Reason, Status
from services.kernel.errors import Conflict
from tests.integration.coordination.conftest import Served
from tests.integration.coordination.parts import Parts
from tests.integration.coordination.rows import coordinator, worker
from tests.integration.coordination.runner_client import facts


async def stop(parts: Parts, of: Coordinator, name: str, reason: Reason = Reason.CANCELLED) -> None:
    async with parts.workshop.work() as work:
        there = await work.coordinator(of.tenant, of.session_id)
        one = await work.worker(of.tenant, of.session_id, name)
        assert there is not None
        assert one is not None
        await ask_stop(work, there, one, reason, SYSTEM, parts.clock.now())


async def test_a_worker_whose_time_is_over_is_asked_to_stop_and_ends_as_timeout(parts: Parts) -> None:
    of = coordinator()
    await parts.put(of, worker(of, "alpha", timeout_seconds=60), worker(of, "patient"))
    parts.clock.go(1_000)
    taken = await parts.take()
    expires = taken["alpha"].worker.expires_at
    assert expires is not None
    assert (expires - parts.clock.now()).total_seconds() == 60, "its time begins when a runner takes it"
    parts.clock.go(59)
    await parts.times_are_over()
    assert not (await parts.running.heartbeat(taken["alpha"].job.id, 1, Beat()))[1]
    parts.clock.go(1)
    await parts.times_are_over()
    await parts.times_are_over()
    assert (await parts.running.heartbeat(taken["alpha"].job.id, 1, Beat()))[1]
    assert not (await parts.running.heartbeat(taken["patient"].job.id, 1, Beat()))[1]
    await parts.running.complete(taken["alpha"].job.id, 1, "interrupted", "half", 0, "")
    ended = await parts.worker(of, "alpha")
    assert (ended.status, ended.reason, ended.has_result, ended.partial) == (Status.FAILED, "timeout", True, True)
    assert len(await facts(parts.database, "cancel_requested")) == 1


async def test_a_stop_that_is_not_heeded_is_done_by_the_service_after_half_a_minute(
    parts: Parts, sessions: Served
) -> None:
    of = coordinator()
    await parts.put(of, worker(of, "deaf"))
    taken = await parts.take()
    deaf = taken["deaf"]
    session = sessions.fake.open(id=deaf.worker.session_id)
    await parts.running.report(deaf.job.id, 1, "so far")
    await stop(parts, of, "deaf")
    parts.clock.go(29)
    await parts.running.heartbeat(deaf.job.id, 1, Beat(said=True))
    await parts.times_are_over()
    await parts.aborting.round()
    assert not (await parts.worker(of, "deaf")).ended
    assert session.aborts == 0
    parts.clock.go(1)
    await parts.times_are_over()
    ended = await parts.worker(of, "deaf")
    assert (ended.status, ended.reason, ended.partial) == (Status.CANCELLED, "cancelled", True)
    await parts.aborting.round()
    await parts.aborting.round()
    assert (session.aborts, session.turns[-1].outcome) == (1, "aborted")
    with pytest.raises(Conflict, match="not yours"):
        await parts.running.complete(deaf.job.id, 1, "completed", "late", 0, "")
    await parts.times_are_over()
    assert len(await facts(parts.database, "ended")) == 1


async def test_the_first_reason_of_a_stop_counts_and_its_time_is_not_lengthened(parts: Parts) -> None:
    of = coordinator()
    await parts.put(of, worker(of, "alpha", timeout_seconds=10))
    await parts.take()
    parts.clock.go(10)
    await parts.times_are_over()
    parts.clock.go(20)
    await stop(parts, of, "alpha")
    parts.clock.go(10)
    await parts.times_are_over()
    ended = await parts.worker(of, "alpha")
    assert (ended.status, ended.reason) == (Status.FAILED, "timeout")


async def test_a_queued_adoption_whose_time_is_over_ends_at_once_and_its_session_is_aborted(
    parts: Parts, sessions: Served
) -> None:
    of = coordinator()
    await parts.put(of, worker(of, "alpha", timeout_seconds=10))
    taken = await parts.take()
    session = sessions.fake.open(id=taken["alpha"].worker.session_id)
    session.turns[-1].state, session.turns[-1].said = "waiting", True
    await parts.running.heartbeat(taken["alpha"].job.id, 1, Beat(said=True, waiting=True, give_back=True))
    await parts.reconciling.round()
    parts.clock.go(10)
    await parts.times_are_over()
    ended = await parts.worker(of, "alpha")
    assert (ended.status, ended.reason) == (Status.FAILED, "timeout")
    await parts.aborting.round()
    assert session.aborts == 1


async def test_an_abort_is_tried_until_streaming_is_back(parts: Parts, sessions: Served, wake: Wake) -> None:
    of = coordinator()
    await parts.put(of, worker(of, "alpha"))
    taken = await parts.take()
    session = sessions.fake.open(id=taken["alpha"].worker.session_id)
    await stop(parts, of, "alpha")
    parts.clock.go(30)
    await parts.times_are_over()
    sessions.fake.down = True
    await parts.aborting.round()
    sessions.fake.down = False
    await parts.aborting.round()
    assert session.aborts == 0, "it is not due yet"
    parts.clock.go(5)
    again = Parts(parts.database, wake, sessions.address)
    again.clock.ahead = parts.clock.ahead
    await again.aborting.round()
    await again.channel.close()
    assert session.aborts == 1
    assert await parts.errands.stops(parts.clock.now(), 10) == []


async def test_what_a_worker_costs_is_booked_while_it_has_a_runner(parts: Parts) -> None:
    of = coordinator(budget_seconds=100, budget_tokens=1_000)
    await parts.put(of, worker(of, "alpha"), worker(of, "beta"))
    parts.clock.go(500)
    taken = await parts.take()
    alpha, beta = taken["alpha"].job.id, taken["beta"].job.id
    parts.clock.go(30)
    assert not (await parts.running.heartbeat(alpha, 1, Beat(tokens=10)))[1]
    assert not (await parts.running.heartbeat(beta, 1, Beat(tokens=20)))[1]
    await parts.running.heartbeat(alpha, 1, Beat(tokens=5, give_back=True))
    parts.clock.go(10)
    await parts.reconciling.round()  # until it was noticed, it may have worked
    parts.clock.go(1_000)
    taken = await parts.take()
    parts.clock.go(5)
    assert not (await parts.running.heartbeat(alpha, 2, Beat(tokens=15)))[1]
    async with parts.workshop.work() as work:
        there = await work.coordinator(of.tenant, of.session_id)
    assert there is not None
    assert (there.spent_ms, there.spent_tokens) == (75_000, 35)
    assert (await parts.running.heartbeat(beta, 1, Beat()))[1], "1045 seconds of beta are too many"
    for name in ("alpha", "beta"):
        assert (await parts.worker(of, name)).stop_reason == "budget_exhausted"
