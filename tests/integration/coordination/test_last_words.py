"""Whoever ends a worker, and however: what its agent had said is kept, and collected alike each time (C.3, PUB11)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from services.coordination.adapters.report_rows import PostgresMailbox
from services.coordination.application.running import Beat
from services.coordination.domain.limits import REPORT_BYTES
from services.coordination.domain.worker import Coordinator, Reason, Worker
from services.kernel.errors import Unavailable
from tests.fakes.streaming_sessions import FakeStreamingSession
from tests.integration.coordination.conftest import Served
from tests.integration.coordination.parts import Parts
from tests.integration.coordination.rows import coordinator, worker
from tests.integration.coordination.runner_client import facts, lose
from tests.integration.coordination.test_time import stop

SAID = "## Result\n\nhalf of it, é 🧵"


@dataclass
class Run:
    """A worker that a runner has, and its session with a turn in which something was said."""

    parts: Parts
    of: Coordinator
    job_id: str
    session: FakeStreamingSession

    async def ends(self, reason: str, text: str = "") -> None:
        """Its runner says so."""
        await self.parts.running.complete(self.job_id, 1, reason, text, 0, "")

    async def waits_for_another_runner(self) -> None:
        """Its own gives it back while its session waits for a person."""
        self.session.turns[-1].state = "waiting"
        await self.parts.running.heartbeat(self.job_id, 1, Beat(said=True, give_back=True))
        await self.parts.reconciling.round()

    async def force(self, after: float = 31) -> None:
        """Nobody heeds the stop."""
        self.parts.clock.go(after)
        await self.parts.times_are_over()

    async def lose(self) -> None:
        """Its runner is gone, and that is noticed."""
        await lose(self.parts.database)
        await self.parts.reconciling.round()

    async def seen(self) -> Worker:
        """As it is."""
        return await self.parts.worker(self.of, "alpha")


async def cancelled_and_not_heeded(run: Run) -> None:
    await stop(run.parts, run.of, "alpha")
    await run.force()


async def cancelled_between_two_runners(run: Run) -> None:
    await run.waits_for_another_runner()
    await stop(run.parts, run.of, "alpha")
    await run.force(after=0)


async def cancelled_and_then_lost(run: Run) -> None:
    await stop(run.parts, run.of, "alpha")
    await run.lose()


async def cancelled_by_a_runner_whose_agent_does_not_stop(run: Run) -> None:
    await stop(run.parts, run.of, "alpha")
    await run.ends("cancelled")


async def timed_out_and_not_heeded(run: Run) -> None:
    run.parts.clock.go(1000)
    await run.parts.times_are_over()
    await run.force()


async def timed_out_between_two_runners(run: Run) -> None:
    await run.waits_for_another_runner()
    run.parts.clock.go(1000)
    await run.parts.times_are_over()


async def over_budget_and_not_heeded(run: Run) -> None:
    assert (await run.parts.running.heartbeat(run.job_id, 1, Beat(tokens=100)))[1]
    await run.force()


async def over_budget_by_another_worker_between_two_runners(run: Run) -> None:
    await run.parts.put(run.of, worker(run.of, "beta"))
    beta = (await run.parts.take())["beta"]
    await run.waits_for_another_runner()
    assert (await run.parts.running.heartbeat(beta.job.id, 1, Beat(tokens=100)))[1]
    await run.force(after=0)


async def lost_with_its_session(run: Run) -> None:
    run.session.settle("", "failed", "runner_lost")
    await run.lose()


async def aborted_by_a_person_and_lost(run: Run) -> None:
    run.session.settle("aborted")
    await run.lose()


async def cut_off_and_lost(run: Run) -> None:
    run.session.settle("truncated")
    await run.lose()


async def cut_off_before_a_stop_was_forced(run: Run) -> None:
    await stop(run.parts, run.of, "alpha")
    run.session.settle("truncated")
    await run.force()


async def failed_by_a_runner_that_has_no_text(run: Run) -> None:
    await run.ends("failed")


async def interrupted_by_a_runner_that_has_no_text(run: Run) -> None:
    run.session.settle("aborted")
    await run.ends("interrupted")


async def cancelled_with_its_coordinator_deleted(run: Run) -> None:
    await run.parts.hear(run.of.session_id, "deleted")
    await run.force()


async def cancelled_with_its_turn_aborted(run: Run) -> None:
    await run.parts.turn_ends(run.of.session_id, "trn_1", "aborted")
    await run.force()


ENDS: dict[Callable[[Run], Awaitable[None]], tuple[str, str]] = {
    cancelled_and_not_heeded: ("cancelled", "cancelled"),
    cancelled_between_two_runners: ("cancelled", "cancelled"),
    cancelled_and_then_lost: ("cancelled", "cancelled"),
    cancelled_by_a_runner_whose_agent_does_not_stop: ("cancelled", "cancelled"),
    cancelled_with_its_coordinator_deleted: ("cancelled", "cancelled"),
    cancelled_with_its_turn_aborted: ("cancelled", "cancelled"),
    timed_out_and_not_heeded: ("failed", "timeout"),
    timed_out_between_two_runners: ("failed", "timeout"),
    over_budget_and_not_heeded: ("failed", "budget_exhausted"),
    over_budget_by_another_worker_between_two_runners: ("failed", "budget_exhausted"),
    cut_off_and_lost: ("failed", "budget_exhausted"),
    cut_off_before_a_stop_was_forced: ("failed", "budget_exhausted"),
    lost_with_its_session: ("interrupted", "runner_lost"),
    aborted_by_a_person_and_lost: ("interrupted", "interrupted"),
    interrupted_by_a_runner_that_has_no_text: ("interrupted", "interrupted"),
    failed_by_a_runner_that_has_no_text: ("failed", "failed"),
}


@pytest.fixture
async def run(parts: Parts, sessions: Served) -> Run:
    """It has said half of it, and one report was handed in."""
    of = coordinator(budget_tokens=100)
    await parts.put(of, worker(of, "alpha", timeout_seconds=900))
    leased = (await parts.take())["alpha"]
    session = sessions.fake.open(id=leased.worker.session_id, attended=True)
    session.turns[-1].said, session.turns[-1].text = True, SAID
    await parts.running.heartbeat(leased.job.id, 1, Beat(said=True))
    await parts.running.report(leased.job.id, 1, "a first report")
    return Run(parts, of, leased.job.id, session)


@pytest.mark.parametrize(("happens", "ended"), ENDS.items(), ids=lambda one: getattr(one, "__name__", ""))
async def test_pub11_whatever_ends_a_worker_keeps_what_it_had_said(
    run: Run, happens: Callable[[Run], Awaitable[None]], ended: tuple[str, str]
) -> None:
    await happens(run)
    seen = await run.seen()
    assert (seen.status.value, seen.reason, seen.has_result, seen.partial) == (*ended, True, True)
    assert seen.report_version == 2
    mailbox = PostgresMailbox(run.parts.database)
    collected = [await mailbox.look("default", run.of.session_id, "alpha", 0, whole) for whole in (False, True) * 2]
    texts = [(one[1].text, one[1].final, one[1].partial, one[1].found) for one in collected if one and one[1]]
    assert texts == [("half of it, é 🧵", True, True, True), (SAID, True, True, True)] * 2
    first = await mailbox.look("default", run.of.session_id, "alpha", 1, False)
    assert first is not None
    assert first[1] is not None
    assert first[1].text == "a first report"
    await run.parts.times_are_over()
    await run.parts.reconciling.round()
    await run.parts.aborting.round()
    assert await run.seen() == seen
    assert not run.session.turns[-1].live, "and nothing is left running"
    told = [one["reason"] for one in await facts(run.parts.database, "ended") if one["name"] == "alpha"]
    assert told == [ended[1]]


async def test_a_result_that_is_faster_than_a_stop_that_nobody_heeded_is_a_result(run: Run) -> None:
    await stop(run.parts, run.of, "alpha")
    run.session.settle("ok")
    await run.force()
    seen = await run.seen()
    assert (seen.status.value, seen.reason, seen.partial) == ("succeeded", "completed", False)


async def test_a_worker_that_never_began_ends_at_once_and_without_asking_anybody(
    parts: Parts, sessions: Served
) -> None:
    of = coordinator()
    await parts.put(of, worker(of, "alpha"))
    sessions.fake.down = True
    await stop(parts, of, "alpha")
    seen = await parts.worker(of, "alpha")
    assert (seen.reason, seen.has_result) == ("cancelled", False)
    assert sessions.fake.askers == []


async def test_words_that_cannot_be_read_are_waited_for_a_minute(run: Run, sessions: Served) -> None:
    sessions.fake.down = True
    await stop(run.parts, run.of, "alpha")
    await run.force()
    assert not (await run.seen()).ended
    with pytest.raises(Unavailable):
        await run.ends("cancelled")
    again = Parts(run.parts.database, run.parts.wake, sessions.address)
    again.clock.ahead = run.parts.clock.ahead
    sessions.fake.down = False
    await again.times_are_over()
    assert (await run.seen()).report_version == 2
    await again.channel.close()


async def test_words_that_cannot_be_read_for_long_are_given_up_and_the_session_is_aborted_later(
    run: Run, sessions: Served
) -> None:
    sessions.fake.down = True
    await stop(run.parts, run.of, "alpha")
    await run.force(after=91)
    seen = await run.seen()
    assert (seen.reason, seen.report_version, seen.partial) == ("cancelled", 1, True)
    sessions.fake.down = False
    await run.parts.aborting.round()
    assert run.session.aborts == 1


async def test_words_over_the_limit_of_a_report_are_said_to_be_too_large(run: Run) -> None:
    run.session.turns[-1].text = "x" * (REPORT_BYTES + 1)
    await run.ends("failed")
    seen = await run.seen()
    assert (seen.status.value, seen.reason, seen.report_version) == ("failed", Reason.RESULT_TOO_LARGE.value, 1)


async def test_an_answer_that_its_session_has_cut_by_its_size_is_kept_so_far_and_said_to_be_too_large(
    run: Run,
) -> None:
    run.session.turns[-1].text = "é" * (REPORT_BYTES // 2)
    run.session.settle("truncated")
    await run.lose()
    seen = await run.seen()
    assert (seen.reason, seen.report_version, seen.partial) == (Reason.RESULT_TOO_LARGE.value, 2, True)


async def test_who_completes_without_a_word_has_said_nothing(run: Run) -> None:
    await run.ends("completed")
    seen = await run.seen()
    assert (seen.status.value, seen.report_version, seen.partial) == ("succeeded", 1, True)
