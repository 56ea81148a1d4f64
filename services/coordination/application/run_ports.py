"""What the runs of workers need beyond `Work`: leases, the duties' lists, and the workers' sessions in streaming."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from services.coordination.application.work import Work
from services.coordination.domain.worker import Worker
from services.kernel.bus import Bell
from services.kernel.jobs import Job


class Whose(NamedTuple):
    """Which rows are to be locked for a job, read before anything is."""

    tenant: str
    coordinator_id: str
    worker_id: str
    job_id: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Leased:
    """A worker and the job by which a runner has it, or had it."""

    worker: Worker
    job: Job

    @property
    def whose(self) -> Whose:
        """Its rows."""
        return Whose(
            self.worker.tenant, self.worker.coordinator_id, self.worker.id, self.job.id, self.worker.session_id
        )


class RunWork(Work, Protocol):
    """One transaction on a run. Leases are kept by the database's clock."""

    async def claimed(self, claim_id: str) -> Sequence[Leased]:
        """What this claim holds; until the end of the transaction, nobody else leases by it. Before any row's lock."""
        ...

    async def lease_job(self, job_id: str, runner_id: str, claim_id: str, lease: timedelta) -> Job | None:
        """None: it is not queued any more."""
        ...

    async def keep_job(self, job_id: str, fence: int, lease: timedelta) -> tuple[datetime, bool]:
        """Keeps a lease (a lease of 0 ends it); answers its end, and whether to stop. Conflict LEASE_LOST."""
        ...

    async def hold_job(self, job_id: str, fence: int) -> Job:
        """Locks a job whose lease the caller still has. Conflict LEASE_LOST."""
        ...

    async def lost_job(self, job_id: str, fence: int) -> bool:
        """Locks a job; whether it is leased by this fence and its lease is over, or queued after it."""
        ...

    async def requeue_job(self, job_id: str, reason: str) -> None:
        """Another runner is wanted; the fence is worth nothing from now on."""
        ...

    async def mark_late(self, tenant: str, coordinator_id: str, turn_id: str, since: datetime) -> int:
        """Workers of a turn that ended at or after this time ended late, although that was not known then; answers how
        many."""
        ...

    async def hasten_wake(self, tenant: str, coordinator_id: str, at: datetime) -> None:
        """A wake that waits is due now."""
        ...

    async def newest_report(self, worker: Worker) -> str | None:
        """The text of its newest report."""
        ...


class RunWorkshop(Protocol):
    """Where it is done; wakes as `Workshop`."""

    def work(self) -> AbstractAsyncContextManager[RunWork]:
        """A transaction."""
        ...


class Runs(Protocol):
    """What is read without a lock: every verdict looks again under the locks."""

    async def whose(self, job_id: str) -> Whose:
        """NotFound JOB_NOT_FOUND."""
        ...

    async def queued(self, most: int) -> Sequence[Whose]:
        """Workers that wait for a runner, those that have waited longest first."""
        ...

    async def claimed(self, claim_id: str) -> Sequence[Leased]:
        """What this claim holds."""
        ...

    async def lost(self, after: str, most: int) -> Sequence[Leased]:
        """Leases that are over, by job id, above that one."""
        ...

    async def unwatched(self, seconds: float, after: str, most: int) -> Sequence[Leased]:
        """Workers that a runner had, and for which another one has been wanted for so long; by job id, above that
        one."""
        ...

    async def expired(self, now: datetime, most: int) -> Sequence[Whose]:
        """Workers whose time is over and that nobody has asked to stop."""
        ...

    async def unstopped(self, now: datetime, most: int) -> Sequence[Whose]:
        """Workers that should have stopped by now."""
        ...


class Due(NamedTuple):
    """A session that is to be told something. `token`: names this request, so that a later one is not taken for it."""

    tenant: str
    session_id: str
    attempts: int
    token: str


@dataclass(frozen=True, slots=True)
class Untold:
    """A late end that no wake told of."""

    worker_id: str
    name: str
    status: str
    reason: str


class Errands(Protocol):
    """What is to be said to streaming, kept until it is said: stops of sessions, wakes of coordinators."""

    async def stops(self, now: datetime, most: int) -> Sequence[Due]:
        """Sessions to abort."""
        ...

    async def stopped(self, due: Due) -> None:
        """It is done."""
        ...

    async def stop_later(self, due: Due, at: datetime) -> None:
        """It is not."""
        ...

    async def wakes(self, now: datetime, most: int) -> Sequence[Due]:
        """Coordinators to wake."""
        ...

    async def untold(self, due: Due) -> Sequence[Untold]:
        """What there is to tell: late ends that were neither collected nor told, oldest first."""
        ...

    async def woken(self, due: Due, told: Sequence[str], at: datetime) -> None:
        """These workers' ends are told."""
        ...

    async def wake_later(self, due: Due, at: datetime) -> None:
        """Not now."""
        ...


class Bells(Protocol):
    """Rings when there is something to do; many rings are one."""

    def of_jobs(self) -> AbstractAsyncContextManager[Bell]:
        """A job was queued."""
        ...

    def of_duties(self) -> AbstractAsyncContextManager[Bell]:
        """A session is to be stopped or woken."""
        ...


@dataclass(frozen=True, slots=True)
class TurnSeen:
    """The newest turn of a worker's session. `under_way`: it has not ended. `attended`: a runner holds the session."""

    turn_id: str
    under_way: bool
    waiting: bool
    outcome: str
    code: str
    said: bool
    attended: bool
    tokens: int


class WorkerSessions(Protocol):
    """The streaming service as background duties ask it, by a token of the service's own. Unavailable
    STREAMING_UNAVAILABLE where it cannot be asked."""

    async def turn_of(self, tenant: str, session_id: str) -> TurnSeen | None:
        """None: no such session, or it has had no turn."""
        ...

    async def text_of(self, tenant: str, session_id: str, turn_id: str) -> str:
        """What the agent said in a turn that has ended."""
        ...

    async def said_so_far(self, tenant: str, session_id: str, turn_id: str) -> str:
        """What the agent has said in a turn that is under way; empty where it is not any more."""
        ...

    async def prompt(self, tenant: str, session_id: str, text: str, request_id: str) -> None:
        """A new turn. NotAllowed TURN_RUNNING while one is under way; NotFound SESSION_NOT_FOUND."""
        ...

    async def abort(self, tenant: str, session_id: str) -> None:
        """No turn is under way afterwards, or it has been told to stop."""
        ...
