"""What a command does to a coordinator and its workers, inside one transaction: the port that Postgres fills.

Order of locks: the idempotency key, held sessions, the coordinator, then workers by id, then jobs. Facts are written
under the coordinator's lock. A runner's call that knows only its job reads it unlocked first, to learn whom to lock.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.coordination.domain.worker import Coordinator, Worker
from services.kernel.jobs import Job
from services.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Note:
    """A scratch note."""

    sequence: int
    text: str
    by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Report:
    """A worker's report. `section`: the body of its `## Result`, None where there is none (C.5)."""

    version: int
    final: bool
    partial: bool
    text: str
    section: str | None
    created_at: datetime

    @property
    def result(self) -> str:
        """What is collected: the section, or the whole text, trimmed."""
        return self.text.strip() if self.section is None else self.section


class Work(Protocol):
    """One transaction."""

    async def remember(self, caller: Principal, method: str, request_id: str, digest: bytes) -> bytes | None:
        """The answer that the same request got before; None: go on (PUB08)."""
        ...

    async def store(self, answer: bytes) -> None:
        """Keeps the answer for repeats of what was remembered."""
        ...

    async def hold_sessions(self, tenant: str, *session_ids: str) -> None:
        """Before the coordinator: commands that hold one of these sessions stand in a line, whether it has a record or
        not."""
        ...

    async def coordinator(self, tenant: str, session_id: str) -> Coordinator | None:
        """The coordinator, locked until the end; None where there is no record."""
        ...

    async def make_coordinator(self, made: Coordinator) -> Coordinator:
        """Inserts where there is none (two at once: one row); answers what is there, locked."""
        ...

    async def save_coordinator(self, changed: Coordinator) -> None:
        """Writes every column but the keys and what was spent (`charge`); the row is locked."""
        ...

    async def charge(self, coordinator: Coordinator, milliseconds: int, tokens: int) -> Coordinator:
        """Adds to what was spent, whatever the caller's copy says; answers the coordinator as it is now."""
        ...

    async def worker(self, tenant: str, coordinator_id: str, name: str) -> Worker | None:
        """By name, locked."""
        ...

    async def worker_by_id(self, tenant: str, worker_id: str) -> Worker | None:
        """By id, locked. Lock its coordinator before."""
        ...

    async def worker_of_session(self, tenant: str, session_id: str) -> Worker | None:
        """The worker whose session this is, unlocked."""
        ...

    async def live_workers(self, tenant: str, coordinator_id: str, turn_id: str | None = None) -> list[Worker]:
        """Those that have not ended (of one turn, where it is named), locked, in order of id."""
        ...

    async def count_workers(self, tenant: str, coordinator_id: str) -> tuple[int, int]:
        """(not ended, all)."""
        ...

    async def insert_worker(self, made: Worker) -> bool:
        """False: the name or the session is taken (the index decides)."""
        ...

    async def save_worker(self, changed: Worker) -> None:
        """Writes every column but the keys; the row is locked."""
        ...

    async def drop_worker(self, worker: Worker) -> None:
        """Deletes a worker whose launch failed before anything came of it, so that its name can be used again; its
        notes go on with the worker that takes the name (`move_notes`)."""
        ...

    async def move_notes(self, worker: Worker, to: Worker) -> None:
        """Notes of a replaced worker go on with the one that took its name."""
        ...

    async def add_note(self, tenant: str, coordinator_id: str, worker_id: str, note: Note) -> tuple[int, Note | None]:
        """Writes it (worker_id empty: the coordinator's list) and drops the oldest above 50; answers how many there
        are and which one was dropped."""
        ...

    async def add_report(self, worker: Worker, report: Report) -> None:
        """Writes a report; versions are `worker.report_version` and up."""
        ...

    async def turn_ended(self, tenant: str, session_id: str, turn_id: str) -> str | None:
        """How the turn ended (`ok`, `aborted`, …); None: not as far as known here."""
        ...

    async def note_turn_end(self, tenant: str, session_id: str, turn_id: str, outcome: str, at: datetime) -> bool:
        """The turn has ended. False: known already."""
        ...

    async def session_deleted(self, tenant: str, session_id: str) -> bool:
        """Whether the session is known to be deleted."""
        ...

    async def note_session_deleted(self, tenant: str, session_id: str, at: datetime) -> bool:
        """The session is deleted. False: known already."""
        ...

    async def enqueue_job(self, worker: Worker) -> None:
        """A runner is wanted: `worker.job_id`."""
        ...

    async def job(self, job_id: str) -> Job | None:
        """The job, locked; None where there is none."""
        ...

    async def cancel_job(self, worker: Worker, reason: str) -> None:
        """The worker's live job is cancelled: a queued one is never claimed, a leased one is fenced off."""
        ...

    async def end_job(self, job_id: str, state: str, reason: str) -> None:
        """The job is over: `done` or `failed`."""
        ...

    async def request_cancel(self, worker: Worker) -> None:
        """The next heartbeat of the worker's job says: stop."""
        ...

    async def want_stop(self, tenant: str, session_id: str, at: datetime) -> None:
        """The worker's session is to be aborted in streaming; a background duty does it, again until it is done."""
        ...

    async def want_wake(self, tenant: str, coordinator_id: str, at: datetime) -> None:
        """The coordinator is to be told of a late result by a new turn."""
        ...

    async def fact(self, worker: Worker, kind: str, actor: str, now: datetime, before: str = "") -> None:
        """A domain fact for the feeds and for streaming."""
        ...

    async def coordinator_fact(self, coordinator: Coordinator, kind: str, actor: str, now: datetime) -> None:
        """A fact of the coordinator itself."""
        ...


class Workshop(Protocol):
    """Where work is done."""

    def work(self) -> AbstractAsyncContextManager[Work]:
        """A transaction: committed at its good end; then the relay, the runners that wait for jobs, and whoever waits
        for this coordinator's workers are woken."""
        ...
