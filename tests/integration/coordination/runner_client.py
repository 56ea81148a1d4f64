"""What a runner says to coordination's JobService in a test, and what a test looks up of its rows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import grpc
import orjson
from google.protobuf.duration_pb2 import Duration

from services.coordination.application.run_ports import Leased
from services.kernel.ids import new_id
from services.kernel.postgres import Database, Row
from services.kernel.principal import Principal
from tests.integration.coordination.client import bearing
from treadle.coordination.v1 import job_service_pb2 as pb
from treadle.coordination.v1.job_service_pb2_grpc import JobServiceStub

RUNNER = Principal("default", "runner-1", "service", frozenset({"runner"}))


class Runner:
    """A runner under test's control. Each method is an RPC."""

    def __init__(self, channel: grpc.aio.Channel, name: str = "r1", by: Principal = RUNNER) -> None:
        self.stub = JobServiceStub(channel)
        self.name = name
        self._metadata = bearing(by)

    async def claim(self, most: int = 32, wait: float = 30, claim_id: str | None = None) -> list[pb.Job]:
        """ClaimJobs."""
        duration = Duration()
        duration.FromTimedelta(timedelta(seconds=wait))
        request = pb.ClaimJobsRequest(
            runner_id=self.name, max_jobs=most, claim_id=claim_id or new_id("clm"), wait=duration
        )
        return list((await self.stub.ClaimJobs(request, metadata=self._metadata, timeout=wait + 60)).jobs)

    async def claim_all(self, count: int) -> dict[str, pb.Job]:
        """So many jobs, by the names of their workers."""
        jobs: dict[str, pb.Job] = {}
        async with asyncio.timeout(60):
            while len(jobs) < count:
                jobs.update({name_of(one): one for one in await self.claim(count - len(jobs))})
        return jobs

    async def beat(self, job: pb.Job, fence: int | None = None, **told: Any) -> pb.HeartbeatJobResponse:
        """HeartbeatJob."""
        request = pb.HeartbeatJobRequest(job_id=job.id, fence=job.fence if fence is None else fence, **told)
        return await self.stub.HeartbeatJob(request, metadata=self._metadata)

    async def report(self, job: pb.Job, text: str) -> int:
        """ReportJob."""
        request = pb.ReportJobRequest(job_id=job.id, fence=job.fence, text=text)
        return (await self.stub.ReportJob(request, metadata=self._metadata)).version

    async def complete(
        self, job: pb.Job, reason: str = "completed", text: str = "", fence: int | None = None, **told: Any
    ) -> None:
        """CompleteJob."""
        request = pb.CompleteJobRequest(
            job_id=job.id, fence=job.fence if fence is None else fence, reason=reason, text=text, **told
        )
        await self.stub.CompleteJob(request, metadata=self._metadata)


def payload_of(job: pb.Job) -> dict[str, Any]:
    """The job's payload."""
    body: dict[str, Any] = orjson.loads(job.payload_json)
    return body


def name_of(job: pb.Job | Leased) -> str:
    """The worker's name."""
    if isinstance(job, Leased):
        return job.worker.name
    return str(payload_of(job)["name"])


def session_of(job: pb.Job) -> str:
    """The worker's session id."""
    return job.session.removeprefix("sessions/")


async def until(holds: Callable[[], Awaitable[object]], seconds: float = 60) -> None:
    """Waits for a condition."""
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.02)


async def facts(database: Database, kind: str | None = None) -> list[dict[str, Any]]:
    """The facts of workers that were written, oldest first."""
    async with database.connection() as tx:
        rows = await tx.raw.fetch("SELECT payload FROM outbox WHERE type = 'worker' ORDER BY id")
    told = [orjson.loads(row["payload"]) for row in rows]
    return [one for one in told if kind is None or one["kind"] == kind]


async def row_of(database: Database, name: str) -> Row:
    """A worker's row, with the state of its job."""
    async with database.connection() as tx:
        row = await tx.raw.fetchrow(
            "SELECT w.*, j.state AS job_state, j.fence, j.cancel_requested FROM workers w"
            " LEFT JOIN jobs j ON j.id = w.job_id WHERE w.name = $1",
            name,
        )
    assert row is not None
    return row


async def lose(database: Database, *names: str) -> None:
    """As if the runners of these workers had been silent for too long (of all, where none is named)."""
    async with database.connection() as tx:
        await tx.raw.execute(
            "UPDATE jobs SET lease_until = clock_timestamp() - interval '1 second' WHERE state = 'leased' AND"
            " ($1::text[] = '{}' OR subject IN (SELECT id FROM workers WHERE name = ANY($1)))",
            list(names),
        )


async def reports_of(database: Database, name: str) -> list[tuple[int, bool, bool, str]]:
    """(version, final, partial, text) of a worker's reports."""
    async with database.connection() as tx:
        rows = await tx.raw.fetch(
            "SELECT r.version, r.final, r.partial, r.text FROM reports r JOIN workers w ON w.id = r.worker_id"
            " WHERE w.name = $1 ORDER BY r.version",
            name,
        )
    return [tuple(row) for row in rows]
