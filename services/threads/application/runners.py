"""What runners ask: claim, heartbeat, start, complete, fail (design/threads.md, section 0.9). The fence
decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from services.kernel import telemetry
from services.kernel.drain import Drain
from services.kernel.errors import Conflict, Invalid, Refusal
from services.threads.application.catalogue import Catalogue, offered
from services.threads.application.commands import Call, Commands, has_jobs
from services.threads.application.holding import Grip, Held
from services.threads.application.ports import Job, JobKind, SchemaCheck, Store, Wake, Work
from services.threads.application.tasks import (
    cleanup_task,
    combined_result,
    execution_task,
    inference_result,
    inference_task,
)
from services.threads.domain import commands as c
from services.threads.domain.canonical import JsonObject
from services.threads.domain.deciding_combined import wants_combined
from services.threads.domain.effects import Effect
from services.threads.domain.events import Actor, ActorKind
from services.threads.domain.reading import text
from services.threads.domain.states import INFERRING, State, Target
from services.threads.domain.thread import Thread
from services.threads.domain.timing import Timing

_log = telemetry.get_logger("threads.runners")
_POLL: Final = 1.0
"""Seconds between looks at the queue when no ping comes."""
_BUSY_POLL: Final = 0.05
"""Seconds to the next look when a due job's thread was locked by somebody else."""

_WANTED: Final = {
    JobKind.INFERENCE: frozenset(INFERRING.values()),
    JobKind.EXECUTION: frozenset({State.EXECUTING}),
    JobKind.CLEANUP: frozenset({State.CLEANING_UP}),
}
"""The states in which a thread wants its job done."""
LATE: Final = Actor(ActorKind.SERVICE, "threads.late_runner")
"""Who reports late where no token says who: the lease's row names the next holder by then."""


@dataclass(frozen=True)
class LeasedJob:
    """A job with all that its runner needs."""

    job: Job
    payload: JsonObject


class Runners:
    """The jobs of threads, as runners see them."""

    def __init__(self, store: Store, wake: Wake, commands: Commands, schemas: SchemaCheck, timing: Timing) -> None:
        self._store = store
        self._wake = wake
        self._commands = commands
        self._schemas = schemas
        self._timing = timing
        self._drain = Drain()

    async def drained(self) -> None:
        """End every long-poll: this process stops."""
        await self._drain.begin()

    async def claim(
        self, actor: Actor | None, kinds: Sequence[JobKind], runner_id: str, claim_id: str, most: int, wait: float
    ) -> list[LeasedJob]:
        """Up to `most` jobs, waiting up to `wait` seconds. A repeated claim_id answers the leases it has."""
        end = asyncio.get_running_loop().time() + wait
        while True:
            heard = self._wake.heard()
            leased, busy = await self._claim_once(actor, kinds, runner_id, claim_id, most)
            left = end - asyncio.get_running_loop().time()
            if leased or left <= 0 or self._drain.begun:
                return leased
            rest = self._wake.wait_for_jobs(heard, min(left, _BUSY_POLL if busy else _POLL))
            await self._drain.cuts_short(rest)

    async def heartbeat(self, job_id: str, fence: int) -> tuple[datetime, bool]:
        """The lease's new end, and whether to stop."""
        async with self._store.work() as work:
            return await work.heartbeat(job_id, fence)

    async def start(self, actor: Actor | None, job_id: str, fence: int) -> None:
        """The first effect follows. Asked again under the same lease it says yes again."""
        async with self._store.work() as work:
            held = await self._locked(work, job_id, Grip(0, laned=False), may_end=False)
            job = await work.hold(job_id, fence)
            if job.started:
                return
            if job.kind is JobKind.INFERENCE:
                raise Invalid("INVALID_FIELD", "only an execution or a cleanup is started", field="job_id")
            if job.kind is JobKind.EXECUTION:
                command = c.StartExecution(text(job.payload, "proposal_id"), text(job.payload, "digest"))
                await self._commands.decided(work, _call(actor, job), held.thread, command)
            await work.mark_started(job_id, fence)
        await self._wake.committed(jobs=False)

    async def complete(self, actor: Actor | None, job_id: str, fence: int, result: JsonObject) -> None:
        """The job's result; a repeat under the same fence is fine, a late or foreign one is told so."""

        async def attempt(grip: Grip) -> None:
            async with self._store.work() as work:
                held = await self._locked(work, job_id, grip)
                if await _said_already(work, job_id, fence, "done", None):
                    return
                job = await work.hold(job_id, fence)
                command = await self._completion(work, held.thread, job, result)
                await work.end_job(job_id, "done")
                _, caused = await self._commands.decided(work, _call(actor, job), held.thread, command, held.above)
            _log.info("job.completed", job=job_id, thread=job.thread_id, kind=job.kind)
            await self._wake.committed(jobs=has_jobs(caused))

        try:
            await self._commands.holding.attempt(job_id, 0, attempt)
        except Conflict as late:
            await self._keep_late(actor, job_id, success=True, code="", refusal=late)
            raise

    async def fail(
        self, actor: Actor | None, job_id: str, fence: int, code: str, detail: str, *, retryable: bool
    ) -> None:
        """No result. `detail` is for the log only (I8)."""

        async def attempt(grip: Grip) -> None:
            async with self._store.work() as work:
                held = await self._locked(work, job_id, grip)
                if await _said_already(work, job_id, fence, "failed", code):
                    return
                job = await work.hold(job_id, fence)
                caused = await self._failed(work, _call(actor, job), held, job, code, retryable=retryable)
            _log.warning("job.failed", job=job_id, thread=job.thread_id, kind=job.kind, code=code, detail=detail)
            await self._wake.committed(jobs=has_jobs(caused))

        try:
            await self._commands.holding.attempt(job_id, 0, attempt)
        except Conflict as late:
            await self._keep_late(actor, job_id, success=False, code=code, refusal=late)
            raise

    async def _claim_once(
        self, actor: Actor | None, kinds: Sequence[JobKind], runner_id: str, claim_id: str, most: int
    ) -> tuple[list[LeasedJob], bool]:
        """One look: what the claim leased, and whether a due job had to be left because its thread is
        busy.
        """
        leased: list[LeasedJob] = []
        busy = wrote = False
        async with self._store.work() as work:
            leased = [await self._leased(work, job) for job in await work.claimed(claim_id)]
            if not leased:
                for job in await work.candidates(kinds, most):
                    thread = await work.try_lock(job.tenant, job.thread_id)
                    if thread is None:
                        busy = True
                        continue
                    wrote = True
                    if (taken := await self._lease(work, actor, thread, job, runner_id, claim_id)) is not None:
                        leased.append(taken)
        if wrote:
            await self._wake.committed(jobs=False)
        return leased, busy

    async def _leased(self, work: Work, job: Job) -> LeasedJob:
        """What a claim holds already, as it is now: nothing is locked, since nothing is written."""
        thread = await work.read(job.tenant, job.thread_id)
        return LeasedJob(job, await self._payload(work, thread, job))

    async def _lease(
        self, work: Work, actor: Actor | None, thread: Thread, job: Job, runner_id: str, claim_id: str
    ) -> LeasedJob | None:
        """Lease one job if its thread still wants it; a job nobody wants is cancelled."""
        after = thread
        if job.kind is JobKind.INFERENCE:
            try:
                asked = Call(job.tenant, actor or Actor(ActorKind.SERVICE, runner_id))
                outcome, _ = await self._commands.decided(work, asked, thread, c.ClaimInference(job.attempt + 1))
            except Refusal as refusal:
                await work.end_job(job.id, "cancelled", refusal.reason)
                return None
            after = outcome.thread
        if after.state not in _WANTED[job.kind]:
            await work.end_job(job.id, "cancelled", after.reason or "not_wanted")
            return None
        leased = await work.lease(job, runner_id, claim_id)
        self._commands.holding.lanes.learn_of(after, job.id)
        return None if leased is None else LeasedJob(leased, await self._payload(work, after, leased))

    async def _payload(self, work: Work, thread: Thread, job: Job) -> JsonObject:
        if job.kind is JobKind.EXECUTION:
            return execution_task(thread, job)
        if job.kind is JobKind.CLEANUP:
            return cleanup_task(thread, job)
        offers = offered(await work.registrations(job.tenant))
        thread = replace(thread, context_items=await work.items(job.tenant, thread.thread_id))
        return inference_task(thread, thread.target or Target.ACTION, offers)

    async def _locked(self, work: Work, job_id: str, grip: Grip, *, may_end: bool = True) -> Held:
        """Thread first, then job: the order of locks of every command. What is no inference may end its thread."""
        found = await work.find_job(job_id)
        if found.kind is not JobKind.INFERENCE and may_end:
            grip = Grip(max(grip.reach, 1), grip.laned)
        return await self._commands.holding.hold(work, found.tenant, found.thread_id, grip)

    async def _completion(self, work: Work, thread: Thread, job: Job, result: JsonObject) -> c.Command:
        if job.kind is JobKind.EXECUTION:
            success = result.get("success") is True
            return c.FinishExecution(success, "" if success else "action_failed")
        if job.kind is JobKind.CLEANUP:
            return c.FinishCleanup(True, source_already_gone=result.get("source_already_gone") is True)
        combined = combined_result(result) if wants_combined(thread) else None
        if combined is not None and combined.action.draft is not None:
            draft, fault = await Catalogue(work, job.tenant, self._schemas).admit(combined.action.draft, thread)
            return combined.intent if fault else replace(combined, action=replace(combined.action, draft=draft))
        command = inference_result(thread.target or Target.ACTION, result)
        if command.draft is None:
            return command
        draft, fault = await Catalogue(work, job.tenant, self._schemas).admit(command.draft, thread)
        if fault:
            return c.FailInference(fault, cost_usd=command.cost_usd)
        return c.CompleteInference(
            draft=draft,
            confidence=command.confidence,
            model_used=command.model_used,
            tier_used=command.tier_used,
            cost_usd=command.cost_usd,
        )

    async def _failed(
        self, work: Work, call: Call, held: Held, job: Job, code: str, *, retryable: bool
    ) -> tuple[Effect, ...]:
        again = retryable and job.attempt < self._timing.inference_attempts
        if job.kind is JobKind.INFERENCE:
            await self._give_back(work, job, again=again, reason=code, ended="failed")
            _, caused = await self._commands.decided(
                work, call, held.thread, c.FailInference(code, retry=again), held.above
            )
        elif again and not job.started:
            await self._give_back(work, job, again=True, reason=code, ended="failed")
            caused = ()
        else:
            await work.end_job(job.id, "failed", code)
            ended = c.FinishCleanup if job.kind is JobKind.CLEANUP else c.FinishExecution
            _, caused = await self._commands.decided(work, call, held.thread, ended(False, code), held.above)
        return caused

    async def _give_back(self, work: Work, job: Job, *, again: bool, reason: str, ended: str) -> None:
        if again:
            await work.requeue(job.id, backoff(self._timing, job.attempt), reason)
        else:
            await work.end_job(job.id, ended, reason)

    async def _keep_late(self, actor: Actor | None, job_id: str, *, success: bool, code: str, refusal: Refusal) -> None:
        """A late result of an execution is kept as an audit event; the state never changes (section 0.9,
        PUB02 b).
        """
        if refusal.reason != "LEASE_LOST":
            return
        async with self._store.work() as work:
            job = await work.find_job(job_id)
            if job.kind is not JobKind.EXECUTION:
                return
            thread = await work.lock(job.tenant, job.thread_id)
            late = c.RecordLateResult(success, code)
            await self._commands.decided(work, Call(job.tenant, actor or LATE), thread, late)
        await self._wake.committed(jobs=False)


def backoff(timing: Timing, attempt: int) -> timedelta:
    """How long to wait after the given attempt (1, 2, 3 …)."""
    steps = timing.inference_backoff
    return steps[min(max(attempt, 1), len(steps)) - 1]


def _call(actor: Actor | None, job: Job) -> Call:
    """On behalf of the runner that a token names, else of the one that holds the lease."""
    return Call(job.tenant, actor or Actor(ActorKind.SERVICE, job.runner_id or "runner"))


async def _said_already(work: Work, job_id: str, fence: int, state: str, reason: str | None) -> bool:
    """The same holder said exactly this before and did not hear the answer."""
    job = await work.find_job(job_id)
    return job.fence == fence and job.state == state and job.reason == reason
