"""Work on a coordinator in one Postgres transaction; afterwards, whoever waits for what it wrote is woken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from services.coordination.adapters import work_sql as sql
from services.coordination.adapters.rows import (
    COORDINATOR_FIELDS,
    REPORT_FIELDS,
    WORKER_FIELDS,
    coordinator_of,
    note_of,
    values_of,
    worker_of,
)
from services.coordination.adapters.wake import Wake
from services.coordination.application.work import Note, Report
from services.coordination.domain import facts, limits
from services.coordination.domain.worker import Coordinator, Worker
from services.kernel import jobs, outbox
from services.kernel.ids import new_id
from services.kernel.keyed_work import KeyedWork
from services.kernel.postgres import Database, Tx

JOB_KIND = "worker"


class PostgresWork(KeyedWork):
    """Fills `Work`. `touched`: the coordinators of which something changed; `facts`, `jobs`, `duties`: whether any
    were written, so that who handles them is woken."""

    def __init__(self, tx: Tx) -> None:
        super().__init__(tx)
        self.touched: dict[str, None] = {}
        self.facts = False
        self.jobs = False
        self.duties = False

    async def tell(self, wake: Wake) -> None:
        """After the commit: whoever waits for what was written."""
        await wake.committed(self.touched, facts=self.facts, jobs=self.jobs, duties=self.duties)

    async def hold_sessions(self, tenant: str, *session_ids: str) -> None:
        """Locks of this transaction on the ids' digests, in their order."""
        for session_id in sorted(session_ids):
            await self._tx.execute(sql.HOLD_SESSION, session=f"{tenant}/{session_id}")

    async def coordinator(self, tenant: str, session_id: str) -> Coordinator | None:
        """FOR UPDATE: commands of one coordinator stand in a line, in whatever process."""
        row = await self._tx.fetchrow(sql.LOCK_COORDINATOR, of_tenant=tenant, of_id=session_id)
        return None if row is None else coordinator_of(row)

    async def make_coordinator(self, made: Coordinator) -> Coordinator:
        """Two at once: one inserts, the other waits for it and reads."""
        await self._tx.execute(sql.MAKE_COORDINATOR, **values_of(made, COORDINATOR_FIELDS))
        there = await self.coordinator(made.tenant, made.session_id)
        assert there is not None, "it is inserted, or was there"
        return there

    async def save_coordinator(self, changed: Coordinator) -> None:
        """Not what was spent: that only rises, by `charge`."""
        await self._tx.execute(
            sql.SAVE_COORDINATOR,
            of_tenant=changed.tenant,
            of_id=changed.session_id,
            **values_of(changed, sql.COORDINATOR_CHANGED),
        )
        self.touched[changed.session_id] = None

    async def charge(self, coordinator: Coordinator, milliseconds: int, tokens: int) -> Coordinator:
        """Adds in the row, so that a copy that is a moment old cannot take anything back."""
        row = await self._tx.fetchrow(
            sql.CHARGE,
            of_tenant=coordinator.tenant,
            of_id=coordinator.session_id,
            more_ms=milliseconds,
            more_tokens=tokens,
        )
        assert row is not None, "the caller holds the row"
        return coordinator_of(row)

    async def worker(self, tenant: str, coordinator_id: str, name: str) -> Worker | None:
        """FOR UPDATE."""
        row = await self._tx.fetchrow(
            sql.LOCK_WORKER_NAMED, of_tenant=tenant, of_coordinator=coordinator_id, of_name=name
        )
        return None if row is None else worker_of(row)

    async def worker_by_id(self, tenant: str, worker_id: str) -> Worker | None:
        """FOR UPDATE."""
        row = await self._tx.fetchrow(sql.LOCK_WORKER, of_tenant=tenant, of_id=worker_id)
        return None if row is None else worker_of(row)

    async def worker_of_session(self, tenant: str, session_id: str) -> Worker | None:
        """Read, not locked: its coordinator is to be locked first."""
        row = await self._tx.fetchrow(sql.WORKER_OF_SESSION, of_tenant=tenant, of_session=session_id)
        return None if row is None else worker_of(row)

    async def live_workers(self, tenant: str, coordinator_id: str, turn_id: str | None = None) -> list[Worker]:
        """FOR UPDATE, in order of id: nobody waits for us while we wait for him."""
        rows = await self._tx.fetch(sql.LOCK_LIVE, of_tenant=tenant, of_coordinator=coordinator_id, of_turn=turn_id)
        return [worker_of(row) for row in rows]

    async def count_workers(self, tenant: str, coordinator_id: str) -> tuple[int, int]:
        """By the index of names."""
        row = await self._tx.fetchrow(sql.COUNT_WORKERS, of_tenant=tenant, of_coordinator=coordinator_id)
        assert row is not None, "an aggregate has a row"
        return row["live"], row["total"]

    async def insert_worker(self, made: Worker) -> bool:
        """The unique indexes decide: of its name in the coordinator, and of its session in the tenant."""
        inserted = await self._tx.fetchval(sql.INSERT_WORKER, **values_of(made, WORKER_FIELDS))
        self.touched[made.coordinator_id] = None
        return inserted is not None

    async def save_worker(self, changed: Worker) -> None:
        """Every column but the keys."""
        await self._tx.execute(
            sql.SAVE_WORKER, of_tenant=changed.tenant, of_id=changed.id, **values_of(changed, sql.WORKER_CHANGED)
        )
        self.touched[changed.coordinator_id] = None

    async def drop_worker(self, worker: Worker) -> None:
        """Only one that has ended without any report."""
        await self._tx.execute(sql.DROP_WORKER, of_tenant=worker.tenant, of_id=worker.id)

    async def move_notes(self, worker: Worker, to: Worker) -> None:
        """Their numbers stay."""
        await self._tx.execute(sql.MOVE_NOTES, **_of_list(worker.tenant, worker.coordinator_id, worker.id), to_id=to.id)

    async def add_note(self, tenant: str, coordinator_id: str, worker_id: str, note: Note) -> tuple[int, Note | None]:
        """Inside the coordinator's lock, so that the cap is exact."""
        of = _of_list(tenant, coordinator_id, worker_id)
        await self._tx.execute(
            sql.INSERT_NOTE,
            **of,
            sequence=note.sequence,
            text=note.text,
            written_by=note.by,
            created_at=note.created_at,
        )
        dropped = await self._tx.fetchrow(sql.EVICT_NOTE, **of, kept=limits.NOTES_KEPT)
        count: int = await self._tx.fetchval(sql.COUNT_NOTES, **of)
        self.touched[coordinator_id] = None
        return count, None if dropped is None else note_of(dropped)

    async def add_report(self, worker: Worker, report: Report) -> None:
        """A second of the same version, or a second final one, is a bug (unique violation). The length of the result is
        kept beside it, so that a roster need not read texts of megabytes."""
        values = {name: getattr(report, name) for name in REPORT_FIELDS}
        await self._tx.execute(
            sql.INSERT_REPORT,
            tenant=worker.tenant,
            worker_id=worker.id,
            result_length=len(report.result),
            **values,
        )
        self.touched[worker.coordinator_id] = None

    async def turn_ended(self, tenant: str, session_id: str, turn_id: str) -> str | None:
        """As far as the facts have come."""
        outcome: str | None = await self._tx.fetchval(
            sql.TURN_ENDED, of_tenant=tenant, of_session=session_id, of_turn=turn_id
        )
        return outcome

    async def note_turn_end(self, tenant: str, session_id: str, turn_id: str, outcome: str, at: datetime) -> bool:
        """The first one counts."""
        return (
            await self._tx.fetchval(
                sql.NOTE_TURN_END, tenant=tenant, session_id=session_id, turn_id=turn_id, outcome=outcome, ended_at=at
            )
            is not None
        )

    async def session_deleted(self, tenant: str, session_id: str) -> bool:
        """As far as the facts have come."""
        return await self._tx.fetchval(sql.SESSION_DELETED, of_tenant=tenant, of_session=session_id) is not None

    async def note_session_deleted(self, tenant: str, session_id: str, at: datetime) -> bool:
        """The first one counts."""
        noted = await self._tx.fetchval(sql.NOTE_SESSION_DELETED, tenant=tenant, session_id=session_id, deleted_at=at)
        return noted is not None

    async def enqueue_job(self, worker: Worker) -> None:
        """Its subject is the worker: one live job each."""
        await jobs.enqueue(
            self._tx, tenant=worker.tenant, id=worker.job_id, kind=JOB_KIND, subject=worker.id, payload={}
        )
        self.jobs = True

    async def job(self, job_id: str) -> jobs.Job | None:
        """FOR UPDATE."""
        return await jobs.lock(self._tx, job_id)

    async def cancel_job(self, worker: Worker, reason: str) -> None:
        """At once."""
        await jobs.cancel(self._tx, worker.tenant, worker.id, reason)

    async def end_job(self, job_id: str, state: str, reason: str) -> None:
        """It is live."""
        await jobs.end(self._tx, job_id, state, reason)

    async def request_cancel(self, worker: Worker) -> None:
        """A leased one is told by its next heartbeat."""
        await jobs.request_cancel(self._tx, worker.tenant, worker.id)

    async def want_stop(self, tenant: str, session_id: str, at: datetime) -> None:
        """Once a session."""
        await self._tx.execute(sql.WANT_STOP, tenant=tenant, session_id=session_id, due_at=at)
        self.duties = True

    async def want_wake(self, tenant: str, coordinator_id: str, at: datetime) -> None:
        """Coalesced. It gets a new id each time: a wake that is being delivered does not take a later one with it."""
        await self._tx.execute(
            sql.WANT_WAKE, tenant=tenant, coordinator_id=coordinator_id, wake_id=new_id("wak"), due_at=at
        )
        self.duties = True

    async def fact(self, worker: Worker, kind: str, actor: str, now: datetime, before: str = "") -> None:
        """Under its coordinator's lock."""
        event_id = new_id("evt")
        payload = facts.of_worker(worker, kind, event_id, actor, now, before)
        await self._say(worker.tenant, worker.coordinator_id, event_id, payload)

    async def coordinator_fact(self, coordinator: Coordinator, kind: str, actor: str, now: datetime) -> None:
        """Under its lock."""
        event_id = new_id("evt")
        payload = facts.of_coordinator(coordinator.session_id, kind, event_id, actor, now)
        await self._say(coordinator.tenant, coordinator.session_id, event_id, payload)

    async def _say(self, tenant: str, coordinator_id: str, event_id: str, payload: dict[str, object]) -> None:
        await outbox.enqueue(
            self._tx,
            tenant=tenant,
            scope=facts.scope_of(coordinator_id),
            service="coordination",
            type=facts.TYPE,
            event_id=event_id,
            payload=payload,
        )
        self.facts = True
        self.touched[coordinator_id] = None


class PostgresWorkshop:
    """Fills `Workshop`."""

    def __init__(self, database: Database, wake: Wake) -> None:
        self._database = database
        self._wake = wake

    @asynccontextmanager
    async def work(self) -> AsyncIterator[PostgresWork]:
        """One transaction, then the pings."""
        async with self._database.transaction() as tx:
            work = PostgresWork(tx)
            yield work
        await work.tell(self._wake)


def _of_list(tenant: str, coordinator_id: str, worker_id: str) -> dict[str, str]:
    return {"of_tenant": tenant, "of_coordinator": coordinator_id, "of_worker": worker_id}
