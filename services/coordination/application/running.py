"""How runners take workers: claim by long-poll, heartbeat, interim reports, the end (C.2, C.3). The fence decides."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from services.coordination.application.ending import SYSTEM, End, bill, end_worker
from services.coordination.application.last_words import LastWords
from services.coordination.application.reporting import interim_version, reportable
from services.coordination.application.run_ports import Bells, Leased, Runs, RunWork, RunWorkshop, Whose
from services.coordination.application.sectioning import Reading, read
from services.coordination.application.stopping import stop_all
from services.coordination.application.work import Report
from services.coordination.domain.adoption import unless_faster
from services.coordination.domain.limits import REPORT_BYTES
from services.coordination.domain.worker import Coordinator, Reason, Status, Worker
from services.kernel.clock import Clock
from services.kernel.drain import Drain
from services.kernel.errors import Conflict, Unavailable
from services.kernel.telemetry import get_logger
from services.kernel.text import storable

_POLL: Final = 1.0
_CONTENDED_POLL: Final = 0.02
"""Seconds to the next look where others were faster with all that was seen."""
_OF_A_STOP: Final = frozenset({Reason.CANCELLED, Reason.INTERRUPTED})
"""How a runner ends a worker that it was told to stop."""
_CONTENDED: Final = "CONTENDED"
"""The kernel's word for rows that others hold (kernel/postgres.py)."""
_A = TypeVar("_A")
_REASONS: Final = {one.value: one for one in Reason}
_log = get_logger("coordination.running")


@dataclass(frozen=True, slots=True)
class Beat:
    """What a heartbeat tells of a worker."""

    said: bool = False
    waiting: bool = False
    tokens: int = 0
    give_back: bool = False


class Running:
    """The use cases; a claim ends early when this replica drains."""

    def __init__(
        self, runs: Runs, workshop: RunWorkshop, last_words: LastWords, bells: Bells, clock: Clock, lease: timedelta
    ) -> None:
        self._runs = runs
        self._last_words = last_words
        self._workshop = workshop
        self._bells = bells
        self._clock = clock
        self._lease = lease
        self._drain = Drain()

    async def drained(self) -> None:
        """Ends every long-poll."""
        await self._drain.begin()

    async def claim(self, runner_id: str, claim_id: str, most: int, wait: float) -> Sequence[Leased]:
        """Leases workers of one coordinator as soon as there are any; empty after `wait` seconds. A repeated claim_id
        answers the leases that it has."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        async with self._bells.of_jobs() as bell:
            while True:
                # In this order: what the same claim leases meanwhile is in one of the two.
                queued = await self._runs.queued(most)
                leased = await self._runs.claimed(claim_id)
                for group in _by_coordinator(queued):
                    leased = leased or await self._take(group, runner_id, claim_id)
                left = until - loop.time()
                if leased or left <= 0 or self._drain.begun:
                    return leased
                await self._drain.cuts_short(bell.wait(min(left, _CONTENDED_POLL if queued else _POLL)))

    async def heartbeat(self, job_id: str, fence: int, beat: Beat) -> tuple[datetime, bool]:
        """Keeps the lease (or ends it) and books what the worker has cost; answers the lease's end, and whether to
        stop. A spent budget stops all of the coordinator's workers."""
        whose = await self._runs.whose(job_id)
        return await _in_turn(lambda: self._heartbeat(whose, job_id, fence, beat))

    async def _heartbeat(self, whose: Whose, job_id: str, fence: int, beat: Beat) -> tuple[datetime, bool]:
        async with self._workshop.work() as work:
            coordinator, worker = await locked(work, whose)
            lease = timedelta(0) if beat.give_back else self._lease
            until, cancel = await work.keep_job(job_id, fence, lease)
            now = self._clock.now()
            told = replace(worker, said=worker.said or beat.said, waiting=beat.waiting)
            if told != worker:
                told = replace(told, updated_at=now)
                await work.save_worker(told)
            if told.waiting != worker.waiting:
                await work.fact(told, "waiting", SYSTEM, now)
            _, coordinator = await bill(work, coordinator, told, beat.tokens, now)
            if coordinator.spent_budget is not None:
                await stop_all(work, coordinator, Reason.BUDGET_EXHAUSTED, SYSTEM, now)
                cancel = True
        return until, cancel or bool(worker.stop_reason)

    async def report(self, job_id: str, fence: int, text: str) -> int:
        """Stores an interim report; answers its version. The newest one repeated is the same report."""
        text = reportable(text)
        whose = await self._runs.whose(job_id)
        reading = await read(text)
        return await _in_turn(lambda: self._report(whose, job_id, fence, text, reading))

    async def _report(self, whose: Whose, job_id: str, fence: int, text: str, reading: Reading) -> int:
        async with self._workshop.work() as work:
            _, worker = await locked(work, whose)
            await work.hold_job(job_id, fence)
            if await work.newest_report(worker) == text:
                return worker.report_version
            now = self._clock.now()
            version = interim_version(worker)
            told = replace(worker, report_version=version, has_result=True, partial=True, updated_at=now)
            await work.save_worker(told)
            await work.add_report(told, Report(version, False, True, text, reading.section, now))
            await work.fact(told, "reported", SYSTEM, now)
        return version

    async def complete(self, job_id: str, fence: int, reason: str, text: str, tokens: int, detail: str) -> None:
        """The worker ended. A repeat under the same fence is fine; a late or foreign one is told so. An end without
        text is completed from the worker's session: STREAMING_UNAVAILABLE where that cannot be read just now."""
        whose = await self._runs.whose(job_id)
        end = await self._end(whose, _REASONS.get(reason, Reason.FAILED), storable(text), tokens)
        ended = await _in_turn(lambda: self._complete(whose, job_id, fence, end))
        if ended is not None:
            _log.info("worker.ended", worker=ended.id, status=ended.status, reason=ended.reason, detail=detail)

    async def _end(self, whose: Whose, why: Reason, text: str, tokens: int) -> End:
        """A runner that has no text to tell may not have got at it: what the agent had said is in its session. Only one
        that has completed has said nothing."""
        if len(text.encode()) > REPORT_BYTES:
            return End(Reason.RESULT_TOO_LARGE, tokens=tokens)
        if not text.strip() and why is not Reason.COMPLETED:
            words = await self._last_words.of(whose.tenant, whose.session_id)
            return words.end(unless_faster(why, words.outcome) if why in _OF_A_STOP else why, tokens)
        return End(why, text or None, tokens, reading=await read(text))

    async def _complete(self, whose: Whose, job_id: str, fence: int, end: End) -> Worker | None:
        """None: it was said before, and the answer was lost."""
        async with self._workshop.work() as work:
            coordinator, worker = await locked(work, whose)
            job = await work.job(job_id)
            if job is not None and job.fence == fence and job.state in ("done", "failed"):
                return None
            await work.hold_job(job_id, fence)
            why = end.reason
            if worker.stop_reason and why in _OF_A_STOP:
                why = Reason(worker.stop_reason)  # the runner does not know why it was to stop
            state = "done" if why in (Reason.COMPLETED, Reason.CANCELLED) else "failed"
            told = replace(end, reason=why, job_state=state)
            return await end_worker(work, coordinator, worker, told, SYSTEM, self._clock.now())

    async def _take(self, group: Sequence[Whose], runner_id: str, claim_id: str) -> Sequence[Leased]:
        """Leases workers of one coordinator, in one transaction, so that a claim has all of its leases at once or none;
        those that are not queued any more are left."""
        taken: list[Leased] = []
        try:
            async with self._workshop.work() as work:
                if held := await work.claimed(claim_id):
                    return held
                for whose in group:
                    _, worker = await locked(work, whose)
                    job = await work.lease_job(whose.job_id, runner_id, claim_id, self._lease)
                    if job is None:
                        continue
                    if worker.ended or worker.job_id != job.id:
                        await work.end_job(job.id, "cancelled", "stray")  # nobody wants it any more
                        continue
                    taken.append(Leased(await self._run(work, worker), job))
        except Conflict as refusal:  # others hold it: it is there at the next look
            _log.info("claim.contended", reason=refusal.reason, coordinator=group[0].coordinator_id)
            return []
        return taken

    async def _run(self, work: RunWork, worker: Worker) -> Worker:
        """It is running from now on, or still is. Its time counts from the first runner that took it."""
        now = self._clock.now()
        expires = worker.expires_at
        if expires is None and worker.timeout_seconds:
            expires = now + timedelta(seconds=worker.timeout_seconds)
        run = replace(
            worker,
            status=Status.RUNNING,
            launches=worker.launches + 1,
            started_at=worker.started_at or now,
            expires_at=expires,
            billed_at=now,
            updated_at=now,
        )
        await work.save_worker(run)
        if worker.status is not Status.RUNNING:
            await work.fact(run, "running", SYSTEM, now, before=worker.status)
        return run


async def locked(work: RunWork, whose: Whose) -> tuple[Coordinator, Worker]:
    """A job's coordinator and worker, locked in this order. LEASE_LOST where either is gone."""
    coordinator = await work.coordinator(whose.tenant, whose.coordinator_id)
    worker = await work.worker_by_id(whose.tenant, whose.worker_id)
    if coordinator is None or worker is None:
        raise Conflict("LEASE_LOST", "the worker of this job is gone: drop the work", job_id=whose.job_id)
    return coordinator, worker


async def _in_turn(do: Callable[[], Awaitable[_A]]) -> _A:
    """A runner takes a conflict for the loss of its lease. That others hold the rows for long is none: it is tried
    again, and refused as Unavailable at last."""
    try:
        return await do()
    except Conflict as refusal:
        if refusal.reason != _CONTENDED:
            raise
    try:
        return await do()
    except Conflict as refusal:
        if refusal.reason != _CONTENDED:
            raise
        raise Unavailable(refusal.reason, refusal.message) from refusal


def _by_coordinator(queued: Sequence[Whose]) -> Iterable[list[Whose]]:
    """Groups, that of the worker that has waited longest first."""
    groups: dict[tuple[str, str], list[Whose]] = {}
    for one in queued:
        groups.setdefault((one.tenant, one.coordinator_id), []).append(one)
    return groups.values()
