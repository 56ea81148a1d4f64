"""One transaction on Postgres: the port `Work` over compiled statements and the kernel's jobs, outbox and
keys.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from services.kernel import idempotency, jobs
from services.kernel.errors import Exhausted
from services.kernel.idempotency import Key
from services.kernel.ids import NewId
from services.kernel.postgres import Database, Tx
from services.threads.adapters import items, proposals, rows, search, tables, thread_doc
from services.threads.adapters.family_work import FamilyWork
from services.threads.adapters.log import decided_of, told_row
from services.threads.application.ports import Change, Job, JobKind, Work
from services.threads.domain import effects as e
from services.threads.domain.errors import Decided, ThreadNotFound
from services.threads.domain.events import Event
from services.threads.domain.registration import Registration, registration_from, registration_json
from services.threads.domain.thread import ContextItem, Thread


class PostgresStore:
    """Where transactions come from."""

    def __init__(self, database: Database, new_id: NewId, lease: timedelta) -> None:
        self._database = database
        self._new_id = new_id
        self._lease = lease

    @asynccontextmanager
    async def work(self) -> AsyncIterator[Work]:
        """One transaction, read committed."""
        async with self._database.transaction() as tx:
            yield PostgresWork(tx, self._new_id, self._lease)


class PostgresWork(FamilyWork):
    """See application.ports.Work."""

    def __init__(self, tx: Tx, new_id: NewId, lease: timedelta) -> None:
        super().__init__(tx, new_id)
        self._lease = lease

    async def remember(self, key: Key | None, digest: bytes) -> bytes | None:
        """The stored answer of a repeat."""
        return await idempotency.remember(self._tx, key, digest)

    async def store(self, key: Key | None, answer: bytes) -> None:
        """Keep the answer."""
        await idempotency.store(self._tx, key, answer)

    async def open_proposals(self, tenant: str, session_id: str) -> int:
        """In a line."""
        return await proposals.open_proposals(self._tx, tenant, session_id)

    async def items(self, tenant: str, thread_id: str) -> tuple[ContextItem, ...]:
        """In order."""
        return await items.items_of(self._tx, tenant, thread_id)

    async def move_items(self, tenant: str, ids: Sequence[str], source: str, to: Thread) -> int:
        """By their keys."""
        return await items.move_items(self._tx, tenant, ids, source, to)

    async def deleted(self, tenant: str, umbrella_id: str, child_id: str) -> bool:
        """From the log."""
        found: bool = await self._tx.fetchval(tables.DELETED, of_tenant=tenant, of_id=umbrella_id, child=child_id)
        return found

    async def lock(self, tenant: str, thread_id: str) -> Thread:
        """Waits for the row, at most the lock timeout."""
        doc = await self._tx.fetchval(tables.LOCK, of_tenant=tenant, of_id=thread_id)
        if doc is None:
            raise ThreadNotFound(thread_id)
        return thread_doc.load(doc)

    async def read(self, tenant: str, thread_id: str) -> Thread:
        """Does not lock."""
        row = await self._tx.fetchrow(items.FIND, of_tenant=tenant, of_id=thread_id)
        if row is None:
            raise ThreadNotFound(thread_id)
        return items.thread_of(row)

    async def try_lock(self, tenant: str, thread_id: str) -> Thread | None:
        """Does not wait."""
        doc = await self._tx.fetchval(tables.TRY_LOCK, of_tenant=tenant, of_id=thread_id)
        return None if doc is None else thread_doc.load(doc)

    async def write(self, tenant: str, after: Thread, events: Sequence[Event], effects: Sequence[e.Effect]) -> None:
        """Row, log and outbox, the first event together with the row; then jobs."""
        self.written.append(Change(after, tuple(events), tuple(effects)))
        timer = rows.timer_of(effects)
        first, *rest = [told_row(tenant, after, event) for event in events]
        if events[0].seq == 1:
            await self._tx.execute(tables.INSERT, **first, **rows.thread_row(tenant, after, timer))
            await items.add_items(self._tx, tenant, [after])
        else:
            await self._update(tenant, after, timer, first, keep=not rows.sets_timer(effects))
        if rest:
            await self._tx.executemany(tables.APPEND, rest)
        if search.changes_words(events):
            await search.note_words(self._tx, tenant, [await self._whole(tenant, after, events)])
        for effect in effects:
            await self._cause(tenant, after, effect)

    async def settled(self, tenant: str, thread_id: str, proposal_id: str) -> Decided | None:
        """From the ledger's index."""
        row = await self._tx.fetchrow(tables.SETTLED, of_tenant=tenant, of_id=thread_id, proposal=proposal_id)
        return None if row is None else decided_of(row)

    async def registration(self, tenant: str, name: str) -> Registration | None:
        """One action."""
        doc = await self._tx.fetchval(tables.ACTION, of_tenant=tenant, of_name=name)
        return None if doc is None else registration_from(orjson.loads(doc))

    async def registrations(self, tenant: str) -> list[Registration]:
        """All actions."""
        rows = await self._tx.fetch(tables.ACTIONS_OF, of_tenant=tenant)
        return [registration_from(orjson.loads(row["doc"])) for row in rows]

    async def register(self, tenant: str, registration: Registration, most: int) -> None:
        """Insert or replace."""
        name = registration.name
        if await self._tx.fetchval(tables.ACTION_COUNT, of_tenant=tenant, of_name=name) >= most:
            raise Exhausted("TOO_MANY_ACTIONS", f"a tenant may register {most} actions", limit=most)
        doc = orjson.dumps(registration_json(registration)).decode()
        await self._tx.execute(tables.REGISTER, tenant=tenant, name=name, doc=doc)

    async def due(self, now: datetime, most: int) -> list[tuple[str, Thread]]:
        """Due timers, locked."""
        rows = await self._tx.fetch(tables.DUE, now=now, most=most)
        return [(row["tenant"], thread_doc.load(row["doc"])) for row in rows]

    async def snoozed(self, now: datetime, most: int) -> list[tuple[str, Thread]]:
        """Ended snoozes, locked."""
        rows = await self._tx.fetch(tables.SNOOZED, now=now, most=most)
        return [(row["tenant"], thread_doc.load(row["doc"])) for row in rows]

    async def clear_timer(self, tenant: str, thread_id: str) -> None:
        """No timer."""
        await self._tx.execute(tables.CLEAR_TIMER, of_tenant=tenant, of_id=thread_id)

    async def claimed(self, claim_id: str) -> list[Job]:
        """Live leases of a claim."""
        return [_job(job) for job in await jobs.claimed(self._tx, claim_id)]

    async def candidates(self, kinds: Sequence[JobKind], most: int) -> list[Job]:
        """Due and queued, locked."""
        return [_job(job) for job in await jobs.candidates(self._tx, kinds, most)]

    async def lease(self, job: Job, runner_id: str, claim_id: str) -> Job | None:
        """Fence and attempt rise."""
        leased = await jobs.lease(self._tx, job.id, runner_id=runner_id, claim_id=claim_id, lease_for=self._lease)
        return None if leased is None else _job(leased)

    async def heartbeat(self, job_id: str, fence: int) -> tuple[datetime, bool]:
        """On the database's clock."""
        return await jobs.heartbeat(self._tx, job_id, fence, self._lease)

    async def find_job(self, job_id: str) -> Job:
        """Not locked."""
        return _job(await jobs.find(self._tx, job_id))

    async def hold(self, job_id: str, fence: int) -> Job:
        """Locked."""
        return _job(await jobs.hold(self._tx, job_id, fence))

    async def mark_started(self, job_id: str, fence: int) -> None:
        """Lost from here on means lost."""
        await jobs.start(self._tx, job_id, fence)

    async def end_job(self, job_id: str, state: str, reason: str | None = None) -> None:
        """Terminal for the job."""
        await jobs.end(self._tx, job_id, state, reason)

    async def requeue(self, job_id: str, delay: timedelta, reason: str) -> None:
        """Back to the queue."""
        await jobs.requeue(self._tx, job_id, delay, reason)

    async def expired(self, most: int) -> list[Job]:
        """Locked."""
        return [_job(job) for job in await jobs.expired(self._tx, most)]

    async def _whole(self, tenant: str, after: Thread, events: Sequence[Event]) -> Thread:
        """A thread that was locked comes without its items."""
        if events[0].seq == 1:
            return after
        return replace(after, context_items=await items.items_of(self._tx, tenant, after.thread_id))

    async def _update(
        self, tenant: str, after: Thread, timer: datetime | None, first: Mapping[str, Any], *, keep: bool
    ) -> None:
        values: dict[str, Any] = {f"to_{name}": value for name, value in rows.changing(after).items()}
        values |= first
        if keep:
            await self._tx.execute(tables.UPDATE_KEEPING_TIMER, of_tenant=tenant, of_id=after.thread_id, **values)
        else:
            values["to_timer_at"] = timer
            await self._tx.execute(tables.UPDATE, of_tenant=tenant, of_id=after.thread_id, **values)

    async def _cause(self, tenant: str, after: Thread, effect: e.Effect) -> None:
        if isinstance(effect, e.CancelJobs):
            await jobs.cancel(self._tx, tenant, after.thread_id, f"thread is {after.state}")
        elif (job := rows.job_of(effect)) is not None:
            await self._enqueue(tenant, after, *job)

    async def _enqueue(self, tenant: str, after: Thread, kind: JobKind, payload: dict[str, Any]) -> None:
        await jobs.enqueue(
            self._tx, tenant=tenant, id=self._new_id("job"), kind=kind, subject=after.thread_id, payload=payload
        )


def _job(job: jobs.Job) -> Job:
    return Job(
        id=job.id,
        tenant=job.tenant,
        thread_id=job.subject,
        kind=JobKind(job.kind),
        state=job.state,
        payload=job.payload,
        attempt=job.attempt,
        fence=job.fence,
        started=job.started,
        lease_until=job.lease_until,
        reason=job.reason,
        runner_id=job.runner_id,
    )
