"""A JobService in memory with the rules of design/threads.md §0.9: leases, fences, replayed claims, cancel, sweep.

It stands for the threads service behind a real gRPC server with the house's edge, so that a runner is tested over the
wire. Time is the monotonic clock; a lease is as long as the test says.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from google.protobuf.timestamp_pb2 import Timestamp

from services.kernel.clock import SystemClock
from services.kernel.errors import Conflict, NotFound
from services.kernel.grpc_server import GrpcServer
from services.kernel.principal import Authenticator
from treadle.threads.v1 import job_service_pb2 as pb
from treadle.threads.v1.job_service_pb2_grpc import JobServiceServicer, add_JobServiceServicer_to_server

SERVICE = "treadle.threads.v1.JobService"


@dataclass
class FakeJob:
    """A row. `ends` are the ends that took effect: never more than one."""

    id: str
    kind: pb.Job.Kind.ValueType
    payload: dict[str, Any]
    state: str = "queued"
    fence: int = 0
    attempt: int = 0
    claim_id: str = ""
    runner_id: str = ""
    started: bool = False
    cancel: bool = False
    lease_until: float = 0.0
    ends: list[tuple[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    heartbeats: int = 0

    @property
    def end(self) -> tuple[str, Any]:
        assert len(self.ends) == 1, self.ends
        return self.ends[0]


Before = Callable[[str, FakeJob | None], Awaitable[None]]


class FakeJobService(JobServiceServicer):
    """Set `before` to act when a call comes in (and raise a refusal); `after_claim` to lose a claim's answer."""

    def __init__(self, lease: float = 15.0) -> None:
        self.lease = lease
        self.jobs: dict[str, FakeJob] = {}
        self.claims: list[pb.ClaimJobsRequest] = []
        self.before: Before | None = None
        self.after_claim: Before | None = None
        self.open_claims = 0
        self.most_leased = 0
        self._numbers = itertools.count(1)
        self._woken = asyncio.Event()

    def inference(self, title: str, target: str = "intent") -> FakeJob:
        return self._add(pb.Job.KIND_INFERENCE, {"target": target, "thread": {"id": "thr_1", "title": title}})

    def execution(self, name: str, parameters: dict[str, Any]) -> FakeJob:
        proposal = {"proposal_id": "prp_1", "digest": "d", "name": name, "parameters": parameters}
        payload = {"proposal": proposal, "thread": {"id": "thr_1", "title": "T"}, "idempotency_key": "key-1"}
        return self._add(pb.Job.KIND_EXECUTION, payload)

    def sweep(self) -> None:
        """Ends expired leases: back to the queue, or lost when effects may have begun."""
        for job in self.jobs.values():
            if job.state == "leased" and job.lease_until <= time.monotonic():
                job.state = "queued"
                if job.started:
                    job.state = "lost"
                    job.ends.append(("lost", "runner_lost"))
        self._woken.set()

    async def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Waits for a condition, sweeping like the real one."""
        async with asyncio.timeout(seconds):
            while not condition():
                self.sweep()
                await asyncio.sleep(0.01)

    async def ended(self, job: FakeJob) -> tuple[str, Any]:
        await self.until(lambda: bool(job.ends))
        return job.end

    async def ClaimJobs(self, request: pb.ClaimJobsRequest, context: Any) -> pb.ClaimJobsResponse:
        self.claims.append(request)
        self.open_claims += 1
        try:
            return await self._claim(request)
        finally:
            self.open_claims -= 1

    async def _claim(self, request: pb.ClaimJobsRequest) -> pb.ClaimJobsResponse:
        await self._before("claim", None)
        deadline = time.monotonic() + request.wait.ToNanoseconds() / 1e9
        while True:
            self._woken.clear()
            leased = self._lease(request)
            if leased or time.monotonic() >= deadline:
                break
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._woken.wait()
            except TimeoutError:
                break
        if leased and self.after_claim is not None:
            await self.after_claim("claim", leased[0])
        return pb.ClaimJobsResponse(jobs=[self._message(job) for job in leased])

    async def HeartbeatJob(self, request: pb.HeartbeatJobRequest, context: Any) -> pb.HeartbeatJobResponse:
        job = await self._held("heartbeat", request)
        job.lease_until = time.monotonic() + self.lease
        job.heartbeats += 1
        return pb.HeartbeatJobResponse(cancel=job.cancel)

    async def StartExecution(self, request: pb.StartExecutionRequest, context: Any) -> pb.StartExecutionResponse:
        (await self._held("start", request)).started = True
        return pb.StartExecutionResponse()

    async def CompleteJob(self, request: pb.CompleteJobRequest, context: Any) -> pb.CompleteJobResponse:
        job = await self._held("complete", request)
        job.state = "done"
        job.ends.append(("done", orjson.loads(request.result_json)))
        return pb.CompleteJobResponse()

    async def FailJob(self, request: pb.FailJobRequest, context: Any) -> pb.FailJobResponse:
        job = await self._held("fail", request)
        job.state = "failed"
        job.ends.append((request.code, request.retryable))
        return pb.FailJobResponse()

    def _add(self, kind: pb.Job.Kind.ValueType, payload: dict[str, Any]) -> FakeJob:
        job = FakeJob(f"job_{next(self._numbers)}", kind, payload)
        self.jobs[job.id] = job
        self._woken.set()
        return job

    def _lease(self, request: pb.ClaimJobsRequest) -> list[FakeJob]:
        held = [j for j in self.jobs.values() if j.claim_id == request.claim_id and self._is_live(j)]
        if held:
            return held
        queued = [j for j in self.jobs.values() if j.state == "queued" and j.kind in request.kinds]
        for job in queued[: request.max_jobs or 1]:
            job.state, job.claim_id, job.runner_id, job.started = "leased", request.claim_id, request.runner_id, False
            job.fence += 1
            job.attempt += 1
            job.lease_until = time.monotonic() + self.lease
        self.most_leased = max(self.most_leased, sum(j.state == "leased" for j in self.jobs.values()))
        return queued[: request.max_jobs or 1]

    def _is_live(self, job: FakeJob) -> bool:
        return job.state == "leased" and job.lease_until > time.monotonic()

    async def _held(self, call: str, request: Any) -> FakeJob:
        job = self.jobs.get(request.job_id)
        if job is None:
            raise NotFound("JOB_NOT_FOUND", "there is no such job")
        await self._before(call, job)
        if not self._is_live(job) or job.fence != request.fence:
            job.refused.append(call)
            raise Conflict("LEASE_LOST", "the lease of this job is not yours any more", fence=request.fence)
        return job

    async def _before(self, call: str, job: FakeJob | None) -> None:
        if self.before is not None:
            await self.before(call, job)

    def _message(self, job: FakeJob) -> pb.Job:
        return pb.Job(
            id=job.id,
            kind=job.kind,
            tenant="default",
            thread="threads/thr_1",
            payload_json=orjson.dumps(job.payload),
            fence=job.fence,
            attempt=job.attempt,
            lease_expire_time=Timestamp(seconds=int(time.time() + self.lease)),
        )


class FakeThreads:
    """The servicer behind a real server that can go away and come back on the same port, keeping its rows."""

    def __init__(self, service: FakeJobService, secret: str | None = None) -> None:
        self.service = service
        self.address = "127.0.0.1:0"
        self._secret = secret
        self._server: GrpcServer | None = None

    async def start(self) -> None:
        servicers = [(add_JobServiceServicer_to_server, self.service, SERVICE)]
        self._server = GrpcServer("threads", self.address, servicers, Authenticator(self._secret, SystemClock()))
        self.address = await self._server.start()

    async def stop(self) -> None:
        """At once: calls under way are cut."""
        if self._server is not None:
            await self._server.stop(0)
            self._server = None
