"""The job table on real Postgres: leases, fences, takeover, cancellation (design/threads.md §0.9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta

import asyncpg
import pytest

from services.kernel import jobs
from services.kernel.errors import Conflict, NotFound, Unavailable
from services.kernel.postgres import Database
from tests.conftest import MakeDatabase

SHORT = timedelta(milliseconds=50)


@pytest.fixture
async def db(make_database: MakeDatabase) -> AsyncIterator[Database]:
    database = await Database.open(await make_database("planning"), "test", max_size=10)
    yield database
    await database.close()


async def _enqueue(db: Database, number: int = 1, subject: str | None = None) -> None:
    async with db.transaction() as tx:
        await jobs.enqueue(
            tx,
            tenant="default",
            id=f"job_{number}",
            kind="inference",
            subject=subject or f"thr_{number}",
            payload={"n": number, "text": "žluť 🧵"},
        )


async def _claim(db: Database, claim_id: str, lease: timedelta = jobs.LEASE) -> jobs.Job | None:
    async with db.transaction() as tx:
        for candidate in await jobs.candidates(tx, ["inference"], 1):
            return await jobs.lease(tx, candidate.id, runner_id="r1", claim_id=claim_id, lease_for=lease)
    return None


async def test_a_job_is_claimed_by_one_of_many_at_once(db: Database) -> None:
    for number in range(5):
        await _enqueue(db, number)
    got = await asyncio.gather(*(_claim(db, f"c{n}") for n in range(20)))
    claimed = [job.id for job in got if job is not None]
    assert sorted(claimed) == [f"job_{n}" for n in range(5)]
    assert all(job.fence == 1 and job.attempt == 1 for job in got if job is not None)


async def test_payload_comes_back_as_it_was_written(db: Database) -> None:
    await _enqueue(db, 7)
    job = await _claim(db, "c")
    assert job is not None
    assert job.payload == {"n": 7, "text": "žluť 🧵"}


async def test_the_same_claim_answers_the_same_leases(db: Database) -> None:
    await _enqueue(db)
    first = await _claim(db, "c1")
    async with db.transaction() as tx:
        assert await jobs.claimed(tx, "c1") == [first]
        assert await jobs.claimed(tx, "c2") == []


async def _claim_as_services_do(db: Database, claim_id: str) -> list[jobs.Job]:
    async with db.transaction() as tx:
        held = await jobs.claimed(tx, claim_id)
        if not held:
            for one in await jobs.candidates(tx, ["inference"], 1):
                leased = await jobs.lease(tx, one.id, runner_id="r1", claim_id=claim_id)
                held += [leased] if leased else []
        return held


async def test_pub08_a_claim_and_its_repeat_at_one_moment_have_the_same_leases(
    make_database: MakeDatabase, rounds: int
) -> None:
    url = await make_database("planning")
    async with AsyncExitStack() as stack:
        pools = [await Database.open(url, "test", max_size=4) for _ in range(2)]
        for pool in pools:
            stack.push_async_callback(pool.close)
        for number in range(3 * rounds):
            await _enqueue(pools[0], number)
        for n in range(rounds):
            answers = await asyncio.gather(*(_claim_as_services_do(pools[turn % 2], f"c{n}") for turn in range(4)))
            assert len(answers[0]) == 1
            assert all(one == answers[0] for one in answers), "nobody leased a second job"


async def test_two_claims_do_not_wait_for_each_other(db: Database) -> None:
    await _enqueue(db, 1)
    await _enqueue(db, 2)
    async with db.transaction() as tx:
        await jobs.hold_claim(tx, "c1")
        assert len(await _claim_as_services_do(db, "c2")) == 1


async def test_a_repeat_that_waits_too_long_is_told_to_come_again(db: Database) -> None:
    async with db.transaction() as tx:
        await jobs.hold_claim(tx, "c1")
        with pytest.raises(Unavailable) as refusal:
            await _claim_as_services_do(db, "c1")
    assert refusal.value.reason == "CONTENDED"


async def test_two_live_jobs_of_one_subject_cannot_exist(db: Database) -> None:
    await _enqueue(db, 1, "thr_x")
    with pytest.raises(asyncpg.UniqueViolationError):
        await _enqueue(db, 2, "thr_x")


async def test_an_expired_lease_is_swept_once_and_its_fence_is_refused_ever_after(db: Database) -> None:
    await _enqueue(db)
    old = await _claim(db, "c1", SHORT)
    assert old is not None

    async def sweep() -> list[jobs.Job]:
        async with db.transaction() as tx:
            found = await jobs.expired(tx, 10)
            for job in found:
                await jobs.requeue(tx, job.id, timedelta(0), "lease_expired")
            return found

    async with asyncio.timeout(10):
        swept: list[jobs.Job] = []
        while not swept:
            swept = [job for batch in await asyncio.gather(sweep(), sweep(), sweep()) for job in batch]
    assert [job.id for job in swept] == [old.id]
    new = await _claim(db, "c2")
    assert new is not None
    assert (new.fence, new.attempt) == (2, 2)
    async with db.transaction() as tx:
        for late in (jobs.heartbeat(tx, old.id, old.fence), jobs.hold(tx, old.id, old.fence)):
            with pytest.raises(Conflict) as caught:
                await late
            assert caught.value.reason == "LEASE_LOST"
        assert (await jobs.hold(tx, new.id, new.fence)).id == new.id


async def test_a_lease_that_ran_out_is_lost_even_before_a_sweeper_saw_it(db: Database) -> None:
    await _enqueue(db)
    job = await _claim(db, "c1", timedelta(0))
    assert job is not None
    async with db.transaction() as tx:
        with pytest.raises(Conflict):
            await jobs.start(tx, job.id, job.fence)


async def test_heartbeat_keeps_the_lease_and_tells_of_a_wish_to_cancel(db: Database) -> None:
    await _enqueue(db)
    job = await _claim(db, "c1")
    assert job is not None
    async with db.transaction() as tx:
        until, cancel = await jobs.heartbeat(tx, job.id, job.fence)
        assert (until >= job.lease_until, cancel) == (True, False)
        assert await jobs.request_cancel(tx, "default", "thr_1") == 1
        assert (await jobs.heartbeat(tx, job.id, job.fence))[1] is True


async def test_cancelling_fences_off_a_leased_job_and_hides_a_queued_one(db: Database) -> None:
    await _enqueue(db, 1)
    leased = await _claim(db, "c1")
    await _enqueue(db, 2)
    assert leased is not None
    async with db.transaction() as tx:
        assert await jobs.cancel(tx, "default", "thr_1", "dismissed") == 1
        assert await jobs.cancel(tx, "default", "thr_2", "dismissed") == 1
        assert await jobs.cancel(tx, "other", "thr_2", "dismissed") == 0
        with pytest.raises(Conflict):
            await jobs.hold(tx, leased.id, leased.fence)
    assert await _claim(db, "c2") is None


async def test_an_unknown_job_is_not_found(db: Database) -> None:
    async with db.transaction() as tx:
        with pytest.raises(NotFound):
            await jobs.heartbeat(tx, "job_none", 1)
