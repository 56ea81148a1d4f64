"""Coordination in memory, as far as a runner can tell: workers' jobs with leases and fences, and contexts to inject.

It stands for the service behind a real gRPC server. Time is the monotonic clock; a lease is as long as the test says.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from services.kernel.clock import SystemClock
from services.kernel.errors import Conflict
from services.kernel.grpc_server import GrpcServer
from services.kernel.principal import Authenticator
from treadle.coordination.v1 import coordination_service_pb2 as faces
from treadle.coordination.v1 import job_service_pb2 as pb
from treadle.coordination.v1.coordination_service_pb2_grpc import (
    CoordinationServiceServicer,
    add_CoordinationServiceServicer_to_server,
)
from treadle.coordination.v1.job_service_pb2_grpc import JobServiceServicer, add_JobServiceServicer_to_server


@dataclass
class FakeWorker:
    """A worker's job. `ends` are the ends that took effect: never more than one."""

    id: str
    payload: dict[str, Any]
    state: str = "queued"
    fence: int = 0
    attempt: int = 0
    claim_id: str = ""
    runner_id: str = ""
    cancel: bool = False
    lease_until: float = 0.0
    beats: list[pb.HeartbeatJobRequest] = field(default_factory=list)
    ends: list[pb.CompleteJobRequest] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def end(self) -> pb.CompleteJobRequest:
        assert len(self.ends) == 1, self.ends
        return self.ends[0]

    @property
    def said(self) -> bool:
        return any(beat.said for beat in self.beats)

    @property
    def waiting(self) -> bool:
        return bool(self.beats) and self.beats[-1].waiting


class FakeCoordination(JobServiceServicer, CoordinationServiceServicer):
    """`contexts` by session id; `hold` delays every answer of ComposeContext."""

    def __init__(self, lease: float = 15.0) -> None:
        self.lease = lease
        self.workers: dict[str, FakeWorker] = {}
        self.contexts: dict[str, str] = {}
        self.composed: list[faces.ComposeContextRequest] = []
        self.authorizations: list[str] = []
        self.hold = 0.0
        self.most_leased = 0
        self._woken = asyncio.Event()

    def spawn(self, prompt: str, adapter: str = "scripted", token: str = "", **payload: Any) -> FakeWorker:
        number = len(self.workers)
        body = {"worker_id": f"wrk_{number}", "name": f"w{number}", "title": f"Thread: w{number}", "prompt": prompt}
        worker = FakeWorker(f"job_{number}", {**body, "adapter": adapter, "agent_token": token, **payload})
        self.workers[worker.id] = worker
        self._woken.set()
        return worker

    def sweep(self) -> None:
        """Expired leases go back to the queue."""
        for worker in self.workers.values():
            if worker.state == "leased" and worker.lease_until <= time.monotonic():
                worker.state = "queued"
        self._woken.set()

    async def until(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                self.sweep()
                await asyncio.sleep(0.01)

    async def ended(self, worker: FakeWorker) -> pb.CompleteJobRequest:
        await self.until(lambda: worker.ends)
        return worker.end

    async def ClaimJobs(self, request: pb.ClaimJobsRequest, context: Any) -> pb.ClaimJobsResponse:
        deadline = time.monotonic() + request.wait.ToNanoseconds() / 1e9
        while True:
            self._woken.clear()
            leased = [w for w in self.workers.values() if w.state == "leased" and w.claim_id == request.claim_id]
            leased = leased or [w for w in self.workers.values() if w.state == "queued"][: request.max_jobs]
            if leased or time.monotonic() >= deadline:
                break
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._woken.wait()
            except TimeoutError:
                break
        for worker in leased:
            if worker.state == "queued":
                worker.state, worker.claim_id, worker.runner_id = "leased", request.claim_id, request.runner_id
                worker.fence, worker.attempt = worker.fence + 1, worker.attempt + 1
                worker.lease_until = time.monotonic() + self.lease
        self.most_leased = max(self.most_leased, sum(w.state == "leased" for w in self.workers.values()))
        return pb.ClaimJobsResponse(jobs=[_job(worker) for worker in leased])

    async def HeartbeatJob(self, request: pb.HeartbeatJobRequest, context: Any) -> pb.HeartbeatJobResponse:
        worker = self._held("heartbeat", request)
        worker.beats.append(request)
        worker.lease_until = 0.0 if request.give_back else time.monotonic() + self.lease
        return pb.HeartbeatJobResponse(cancel=worker.cancel)

    async def CompleteJob(self, request: pb.CompleteJobRequest, context: Any) -> pb.CompleteJobResponse:
        worker = self._held("complete", request)
        worker.state = "done"
        worker.ends.append(request)
        return pb.CompleteJobResponse()

    async def ComposeContext(self, request: faces.ComposeContextRequest, context: Any) -> faces.Injection:
        self.composed.append(request)
        metadata: Any = context.invocation_metadata() or ()
        self.authorizations.append(next((value for key, value in metadata if key == "authorization"), ""))
        await asyncio.sleep(self.hold)
        session = request.parent.removeprefix("sessions/")
        return faces.Injection(session_id=session, turn_id=request.turn_id, text=self.contexts.get(session, ""))

    def _held(self, call: str, request: Any) -> FakeWorker:
        worker = self.workers[request.job_id]
        if worker.state != "leased" or worker.fence != request.fence or worker.lease_until <= time.monotonic():
            worker.refused.append(call)
            raise Conflict("LEASE_LOST", "the lease is not yours")
        return worker


def _job(worker: FakeWorker) -> pb.Job:
    number = worker.id.removeprefix("job_")
    return pb.Job(
        id=worker.id,
        kind=pb.Job.KIND_WORKER,
        tenant="default",
        session=f"sessions/ses_{number}",
        payload_json=orjson.dumps(worker.payload),
        fence=worker.fence,
        attempt=worker.attempt,
    )


class CoordinationServer:
    """The servicer behind a real server that can go away and come back on the same port, keeping its rows."""

    def __init__(self, service: FakeCoordination) -> None:
        self.service = service
        self.address = "127.0.0.1:0"
        self._server: GrpcServer | None = None

    async def start(self) -> None:
        servicers: Any = [
            (add_JobServiceServicer_to_server, self.service, "treadle.coordination.v1.JobService"),
            (
                add_CoordinationServiceServicer_to_server,
                self.service,
                "treadle.coordination.v1.CoordinationService",
            ),
        ]
        self._server = GrpcServer("coordination", self.address, servicers, Authenticator(None, SystemClock()))
        self.address = await self._server.start()

    async def stop(self) -> None:
        """At once: calls under way are cut."""
        if self._server is not None:
            await self._server.stop(0)
            self._server = None
