"""Late results wake their coordinator by a new turn: once, when it is free, and only of what it has not seen (C.4)."""

from __future__ import annotations

from services.coordination.adapters.wake import Wake
from services.coordination.application.run_ports import Untold
from services.coordination.application.waking import words_of
from services.coordination.domain.worker import Coordinator
from tests.fakes.streaming_sessions import FakeStreamingSession
from tests.integration.coordination.conftest import Served
from tests.integration.coordination.parts import Parts
from tests.integration.coordination.rows import coordinator, worker


async def late(parts: Parts, of: Coordinator, **ends: tuple[str, str]) -> None:
    """Workers of a turn that has ended end so, by name: (reason, text)."""
    await parts.put(of, *(worker(of, name) for name in ends))
    taken = await parts.take()
    await parts.turn_ends(of.session_id, "trn_1")
    for name, (reason, text) in ends.items():
        await parts.running.complete(taken[name].job.id, 1, reason, text, 0, "")
    parts.clock.go(1)


def idle(sessions: Served, of: Coordinator) -> FakeStreamingSession:
    """The coordinator's session, with its turn ended."""
    session = sessions.fake.open(id=of.session_id)
    session.settle()
    return session


async def pending(parts: Parts) -> int:
    return len(await parts.errands.wakes(parts.clock.now(), 10))


async def test_results_that_come_together_wake_the_coordinator_once(parts: Parts, sessions: Served) -> None:
    of = coordinator(auto_wake=True)
    session = idle(sessions, of)
    await late(parts, of, alpha=("completed", "x"), beta=("timeout", ""), gamma=("cancelled", ""))
    await parts.waking.round()
    await parts.waking.round()
    told = "alpha (succeeded), beta (failed: timeout), gamma (cancelled)"
    assert [text for _, text in session.prompts] == [
        f"[Treadle] Worker results are in: {told}. Collect them and go on."
    ]
    assert sessions.fake.askers[-1].kind == "service"
    assert await pending(parts) == 0


async def test_without_auto_wake_or_for_a_result_in_time_nobody_is_woken(parts: Parts, sessions: Served) -> None:
    quiet, eager = coordinator(), coordinator(auto_wake=True)
    await late(parts, quiet, alpha=("completed", "x"))
    await parts.put(eager, worker(eager, "beta"))
    taken = await parts.take()
    await parts.running.complete(taken["beta"].job.id, 1, "completed", "x", 0, "")
    parts.clock.go(1)
    assert await pending(parts) == 0


async def test_while_a_turn_runs_the_wake_waits_for_its_end(parts: Parts, sessions: Served) -> None:
    of = coordinator(auto_wake=True)
    session = sessions.fake.open(id=of.session_id)
    await late(parts, of, alpha=("completed", "x"))
    await parts.waking.round()
    assert session.prompts == []
    assert await pending(parts) == 0, "it is put off"
    session.settle()
    await parts.turn_ends(of.session_id, "trn_2")
    parts.clock.go(0.3)
    await parts.waking.round()
    assert len(session.prompts) == 1


async def test_what_has_been_collected_meanwhile_is_not_told(parts: Parts, sessions: Served) -> None:
    of = coordinator(auto_wake=True)
    session = idle(sessions, of)
    await late(parts, of, alpha=("completed", "x"))
    async with parts.database.connection() as tx:
        await tx.raw.execute("UPDATE workers SET collected_version = report_version")
    await parts.waking.round()
    assert session.prompts == []
    assert await pending(parts) == 0


async def test_a_wake_whose_answer_was_lost_is_said_once(parts: Parts, sessions: Served) -> None:
    of = coordinator(auto_wake=True)
    session = idle(sessions, of)
    await late(parts, of, alpha=("completed", "x"))
    (due,) = await parts.errands.wakes(parts.clock.now(), 10)
    untold = await parts.errands.untold(due)
    await parts.sessions.prompt(due.tenant, due.session_id, words_of(untold), due.token)
    await parts.waking.round()
    assert len(session.prompts) == 1
    assert await pending(parts) == 0


async def test_a_later_end_gets_a_wake_of_its_own(parts: Parts, sessions: Served) -> None:
    of = coordinator(auto_wake=True)
    session = idle(sessions, of)
    await late(parts, of, alpha=("completed", "x"))
    (due,) = await parts.errands.wakes(parts.clock.now(), 10)
    first = await parts.errands.untold(due)
    await late(parts, of, beta=("completed", "x"))  # while the first one is being said
    await parts.errands.woken(due, [one.worker_id for one in first], parts.clock.now())
    await parts.waking.round()
    assert [text for _, text in session.prompts] == [
        "[Treadle] Worker results are in: beta (succeeded). Collect them and go on."
    ]


async def test_who_ends_while_another_replica_says_the_wake_is_not_taken_for_told(
    parts: Parts, sessions: Served
) -> None:
    of = coordinator(auto_wake=True)
    session = idle(sessions, of)
    await late(parts, of, alpha=("completed", "x"))
    (due,) = await parts.errands.wakes(parts.clock.now(), 10)
    first = await parts.errands.untold(due)
    await parts.sessions.prompt(due.tenant, due.session_id, words_of(first), due.token)  # the other replica
    await late(parts, of, beta=("completed", "x"))
    await parts.waking._wake(due)  # this one has read the wake before beta's end, and whom it tells of after it
    await parts.errands.woken(due, [one.worker_id for one in first], parts.clock.now())
    session.settle()
    await parts.waking.round()
    assert [text for _, text in session.prompts][1:] == [
        "[Treadle] Worker results are in: beta (succeeded). Collect them and go on."
    ]


async def test_streaming_away_puts_it_off_and_a_deleted_or_outside_coordinator_drops_it(
    parts: Parts, sessions: Served, wake: Wake
) -> None:
    gone, outside = coordinator(auto_wake=True), coordinator(auto_wake=True)
    sessions.fake.open(id=outside.session_id, adapter="external").settle()
    await late(parts, gone, alpha=("completed", "x"))
    await late(parts, outside, beta=("completed", "x"))
    sessions.fake.down = True
    await parts.waking.round()
    sessions.fake.down = False
    assert await pending(parts) == 0
    parts.clock.go(5)
    assert await pending(parts) == 2
    again = Parts(parts.database, wake, sessions.address)
    again.clock = parts.clock
    again.waking._clock = parts.clock
    await again.waking.round()
    await again.channel.close()
    parts.clock.go(1_000)
    assert await pending(parts) == 0


async def test_a_coordinator_that_is_deleted_meanwhile_is_left_in_peace(parts: Parts, sessions: Served) -> None:
    of = coordinator(auto_wake=True)
    session = idle(sessions, of)
    await late(parts, of, alpha=("completed", "x"))
    await parts.hear(of.session_id, "deleted")
    await parts.waking.round()
    assert session.prompts == []
    assert await pending(parts) == 0


def test_many_are_counted() -> None:
    many = [Untold(f"wrk_{n}", "n" * 64, "interrupted", "runner_lost") for n in range(1_000)]
    text = words_of(many)
    assert "and 936 more" in text
    assert len(text.encode()) < 32_000
