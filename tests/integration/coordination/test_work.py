"""Work on coordinators and workers in Postgres: what the port promises."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import asyncpg
import orjson
import pytest

from services.coordination.adapters.reads import PostgresReads
from services.coordination.adapters.wake import Wake
from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.application.ending import End, end_worker
from services.coordination.application.work import Note, Report
from services.coordination.domain.worker import Coordinator, Kind, Reason, Status, Worker
from services.kernel import jobs
from services.kernel.errors import AlreadyExists
from services.kernel.postgres import Database
from services.kernel.principal import LOCAL
from tests.integration.coordination.rows import NOW, TENANT, coordinator, later, worker


async def put(workshop: PostgresWorkshop, of: Coordinator, *workers: Worker) -> None:
    async with workshop.work() as work:
        await work.make_coordinator(of)
        for one in workers:
            assert await work.insert_worker(one)
            if one.kind is Kind.SUBAGENT and not one.ended:
                await work.enqueue_job(one)


async def test_a_coordinator_comes_back_as_it_was_written(workshop: PostgresWorkshop) -> None:
    of = coordinator(auto_wake=True, budget_seconds=60, budget_tokens=1_000, adapter="pi", provider="p", model="m")
    async with workshop.work() as work:
        assert await work.coordinator(TENANT, of.session_id) is None
        assert await work.make_coordinator(of) == of
        assert await work.make_coordinator(replace(of, enabled=False)) == of
        changed = replace(of, enabled=False, note_seq=3, deleted=True, updated_at=later(1))
        await work.save_coordinator(changed)
    async with workshop.work() as work:
        assert await work.coordinator(TENANT, of.session_id) == changed
        assert await work.coordinator("other", of.session_id) is None


async def test_two_at_once_make_one_coordinator(workshop: PostgresWorkshop) -> None:
    async def make(enabled: bool) -> Coordinator:
        async with workshop.work() as work:
            return await work.make_coordinator(coordinator("ses_x", enabled=enabled))

    made = await asyncio.gather(make(True), make(False), make(True))
    assert len({one.enabled for one in made}) == 1


async def test_what_was_spent_only_rises_whatever_copy_the_caller_has(workshop: PostgresWorkshop) -> None:
    of = coordinator()
    await put(workshop, of)
    async with workshop.work() as work:
        locked = await work.coordinator(TENANT, of.session_id)
        assert locked is not None
        await work.charge(locked, 10, 1)
        charged = await work.charge(locked, 20, 2)
        assert (charged.spent_ms, charged.spent_tokens) == (30, 3)
        await work.save_coordinator(replace(locked, note_seq=1))
        there = await work.coordinator(TENANT, of.session_id)
        assert there is not None
        assert (there.spent_ms, there.spent_tokens, there.note_seq) == (30, 3, 1)


async def test_a_worker_comes_back_as_it_was_written(workshop: PostgresWorkshop) -> None:
    of = coordinator()
    one = worker(of, context="more", provider="p", model="m", timeout_seconds=9)
    await put(workshop, of, one)
    running = replace(
        one,
        status=Status.RUNNING,
        launches=1,
        said=True,
        waiting=True,
        stop_reason="timeout",
        tokens=5,
        spent_ms=7,
        billed_at=later(1),
        started_at=later(1),
        expires_at=later(10),
        note_seq=2,
        report_version=1,
        collected_version=1,
        updated_at=later(2),
    )
    async with workshop.work() as work:
        assert await work.worker(TENANT, of.session_id, "alpha") == one
        await work.save_worker(running)
    async with workshop.work() as work:
        assert await work.worker_by_id(TENANT, one.id) == running
        assert await work.worker_of_session(TENANT, one.session_id) == running
        assert await work.worker("other", of.session_id, "alpha") is None
        assert await work.worker_by_id("other", one.id) is None
        assert await work.worker_of_session("other", one.session_id) is None


async def test_the_index_decides_about_names_and_sessions(workshop: PostgresWorkshop) -> None:
    of, other = coordinator(), coordinator()
    one = worker(of)
    await put(workshop, of, one)
    await put(workshop, other)
    async with workshop.work() as work:
        assert not await work.insert_worker(worker(of))
        assert not await work.insert_worker(worker(other, session_id=one.session_id))
        assert await work.insert_worker(worker(other))
        assert await work.count_workers(TENANT, of.session_id) == (1, 1)


async def test_live_workers_are_those_that_have_not_ended_of_one_turn_where_it_is_named(
    workshop: PostgresWorkshop,
) -> None:
    of = coordinator()
    first, second = worker(of, "a"), worker(of, "b", spawned_by_turn="trn_2")
    ended = worker(of, "c", status=Status.FAILED, reason="failed", ended_at=NOW)
    await put(workshop, of, second, first, ended)
    async with workshop.work() as work:
        assert [one.name for one in await work.live_workers(TENANT, of.session_id)] == ["a", "b"]
        assert [one.name for one in await work.live_workers(TENANT, of.session_id, "trn_2")] == ["b"]
        assert await work.count_workers(TENANT, of.session_id) == (2, 3)


async def test_an_end_without_a_reason_is_refused_by_the_table(workshop: PostgresWorkshop) -> None:
    of = coordinator()
    one = worker(of)
    await put(workshop, of, one)
    for wrong in (
        replace(one, status=Status.FAILED),
        replace(one, ended_at=NOW),
        replace(one, reason="failed"),
        replace(one, status=Status.FAILED, ended_at=NOW),
    ):
        with pytest.raises(asyncpg.CheckViolationError):
            async with workshop.work() as work:
                await work.save_worker(wrong)


async def test_a_replaced_worker_leaves_its_notes(workshop: PostgresWorkshop, reads: PostgresReads) -> None:
    of = coordinator()
    old = worker(of, status=Status.FAILED, reason="launch_failed", ended_at=NOW, note_seq=1)
    await put(workshop, of, old)
    new = worker(of, note_seq=1)
    async with workshop.work() as work:
        await work.add_note(TENANT, of.session_id, old.id, Note(1, "kept", "user:local", NOW))
        await work.drop_worker(old)
        assert await work.insert_worker(new)
        await work.move_notes(old, new)
    seen = await reads.worker(TENANT, of.session_id, "alpha")
    assert seen is not None
    assert (seen.worker.id, list(seen.notes), seen.note_count) == (new.id, ["kept"], 1)


async def test_a_worker_that_has_not_ended_is_not_dropped(workshop: PostgresWorkshop) -> None:
    of = coordinator()
    one = worker(of)
    await put(workshop, of, one)
    async with workshop.work() as work:
        await work.drop_worker(one)
        assert await work.worker_by_id(TENANT, one.id) == one


async def test_a_list_keeps_its_newest_fifty_notes(workshop: PostgresWorkshop, reads: PostgresReads) -> None:
    of = coordinator()
    await put(workshop, of)
    async with workshop.work() as work:
        for number in range(1, 51):
            note = Note(number, f"n{number}", "user:local", NOW)
            assert await work.add_note(TENANT, of.session_id, "", note) == (number, None)
        count, dropped = await work.add_note(TENANT, of.session_id, "", Note(51, "n51", "user:local", NOW))
        assert count == 50
        assert dropped == Note(1, "n1", "user:local", NOW)
        assert await work.add_note(TENANT, of.session_id, "wrk_x", Note(1, "other", "agent:a", NOW)) == (1, None)
    page = await reads.notes(TENANT, of.session_id, "", 0, 100)
    assert [one.sequence for one in page] == list(range(2, 52))
    assert [one.text for one in await reads.notes(TENANT, of.session_id, "", 49, 1)] == ["n50"]


async def test_jobs_of_workers(workshop: PostgresWorkshop, database: Database) -> None:
    of = coordinator()
    one, two = worker(of, "a"), worker(of, "b")
    await put(workshop, of, one, two)
    async with database.transaction() as tx:
        assert {job.subject for job in await jobs.candidates(tx, ["worker"], 9)} == {one.id, two.id}
        leased = await jobs.lease(tx, two.job_id, runner_id="r", claim_id="c")
    assert leased is not None
    async with workshop.work() as work:
        job = await work.job(one.job_id)
        assert job is not None
        assert (job.state, job.subject) == ("queued", one.id)
        assert await work.job("job_none") is None
        await work.cancel_job(one, "cancelled")
        await work.request_cancel(two)
        held = await work.job(two.job_id)
        assert held is not None
        assert held.cancel_requested
        await work.end_job(two.job_id, "done", "completed")
    async with workshop.work() as work:
        states = [await work.job(job_id) for job_id in (one.job_id, two.job_id)]
        assert [job.state for job in states if job] == ["cancelled", "done"]


async def test_turns_and_sessions_that_are_over_are_known_once(workshop: PostgresWorkshop) -> None:
    async with workshop.work() as work:
        assert await work.turn_ended(TENANT, "ses_a", "trn_1") is None
        assert await work.note_turn_end(TENANT, "ses_a", "trn_1", "aborted", NOW)
        assert not await work.note_turn_end(TENANT, "ses_a", "trn_1", "ok", NOW)
        assert await work.turn_ended(TENANT, "ses_a", "trn_1") == "aborted"
        assert await work.turn_ended("other", "ses_a", "trn_1") is None
        assert not await work.session_deleted(TENANT, "ses_a")
        assert await work.note_session_deleted(TENANT, "ses_a", NOW)
        assert not await work.note_session_deleted(TENANT, "ses_a", NOW)
        assert await work.session_deleted(TENANT, "ses_a")
        assert not await work.session_deleted("other", "ses_a")


async def test_a_request_is_remembered_with_its_answer(workshop: PostgresWorkshop) -> None:
    async with workshop.work() as work:
        assert await work.remember(LOCAL, "M", "k1", b"body") is None
        await work.store(b"answer")
    async with workshop.work() as work:
        assert await work.remember(LOCAL, "M", "k1", b"body") == b"answer"
    with pytest.raises(AlreadyExists):
        async with workshop.work() as work:
            await work.remember(LOCAL, "M", "k1", b"another")


async def test_wakes_are_coalesced_and_the_newest_has_its_own_id(
    workshop: PostgresWorkshop, database: Database
) -> None:
    of = coordinator()
    await put(workshop, of)
    ids = []
    for seconds in (1, 2):
        async with workshop.work() as work:
            await work.want_wake(TENANT, of.session_id, later(seconds))
            await work.want_stop(TENANT, "ses_w", later(seconds))
        async with database.connection() as tx:
            (row,) = await tx.raw.fetch("SELECT wake_id, due_at FROM wakes")
            (stop,) = await tx.raw.fetch("SELECT due_at FROM stops")
        assert row["due_at"] == stop["due_at"] == later(1)
        ids.append(row["wake_id"])
    assert ids[0] != ids[1]


async def test_an_end_is_one_transaction_with_report_bill_job_and_fact(
    workshop: PostgresWorkshop, database: Database, reads: PostgresReads
) -> None:
    of = coordinator()
    one = worker(of, status=Status.RUNNING, launches=1, billed_at=NOW, started_at=NOW)
    await put(workshop, of, one)
    async with workshop.work() as work:
        locked = await work.coordinator(TENANT, of.session_id)
        there = await work.worker(TENANT, of.session_id, "alpha")
        assert locked is not None
        assert there is not None
        text = "thoughts\n\n## Result\n\n the answer \n"
        end = End(Reason.COMPLETED, text, tokens=12, job_state="done")
        ended = await end_worker(work, locked, there, end, "service:runner", later(3))
        assert await end_worker(work, locked, ended, End(Reason.FAILED), "service:runner", later(4)) is ended
    seen = await reads.worker(TENANT, of.session_id, "alpha")
    assert seen is not None
    assert (seen.worker, seen.result, seen.result_length) == (ended, "the answer", 10)
    assert (ended.status, ended.has_result, ended.partial, ended.report_version) == (Status.SUCCEEDED, True, False, 1)
    record = await reads.coordinator(TENANT, of.session_id)
    assert record is not None
    assert (record.coordinator.spent_ms, record.coordinator.spent_tokens) == (3_000, 12)
    assert record.changed_at == later(3)
    async with database.connection() as tx:
        rows = await tx.raw.fetch("SELECT scope, service, type, payload FROM outbox")
        state = await tx.raw.fetchval("SELECT state FROM jobs WHERE id = $1", one.job_id)
    assert [(row["scope"], row["service"], row["type"]) for row in rows] == [(of.session_id, "coordination", "worker")]
    told = orjson.loads(rows[0]["payload"])
    assert (told["kind"], told["from"], told["to"], told["reason"]) == ("ended", "running", "succeeded", "completed")
    assert state == "done"


async def test_a_second_report_of_a_version_is_refused_by_the_table(workshop: PostgresWorkshop) -> None:
    of = coordinator()
    one = worker(of)
    await put(workshop, of, one)
    async with workshop.work() as work:
        await work.add_report(one, Report(1, False, True, "interim", None, NOW))
    for report in (Report(1, False, True, "again", None, NOW), Report(0, False, True, "zero", None, NOW)):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            async with workshop.work() as work:
                await work.add_report(one, report)
    async with workshop.work() as work:
        await work.add_report(one, Report(2, True, False, "final", None, NOW))
    with pytest.raises(asyncpg.UniqueViolationError):
        async with workshop.work() as work:
            await work.add_report(one, Report(3, True, False, "a second final one", None, NOW))


async def test_after_the_commit_those_who_wait_are_woken(workshop: PostgresWorkshop, wake: Wake) -> None:
    of = coordinator("worker:x")
    async with wake.of_workers("worker:x") as workers, wake.of_jobs() as queued, wake.of_duties() as duties:
        async with workshop.work() as work:
            made = await work.make_coordinator(of)
            one = worker(made)
            await work.insert_worker(one)
            await work.enqueue_job(one)
            await work.fact(one, "spawned", "user:local", NOW)
            await work.want_stop(TENANT, one.session_id, NOW)
            assert not await workers.wait(0.05)
        assert await workers.wait(5)
        assert await queued.wait(5)
        assert await duties.wait(5)


async def test_nothing_is_woken_by_what_was_rolled_back(workshop: PostgresWorkshop, wake: Wake) -> None:
    of = coordinator()
    async with wake.of_workers(of.session_id) as workers:
        with pytest.raises(AlreadyExists):
            async with workshop.work() as work:
                await work.insert_worker(worker(await work.make_coordinator(of)))
                raise AlreadyExists("NAME_TAKEN", "no")
        assert not await workers.wait(0.05)
    async with workshop.work() as work:
        assert await work.coordinator(TENANT, of.session_id) is None
