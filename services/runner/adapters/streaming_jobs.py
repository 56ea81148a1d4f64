"""The session jobs of the streaming service over its gRPC stubs. Translates both ways, decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import grpc

from services.runner.adapters.refusing import refusing
from services.runner.adapters.threads_jobs import duration
from services.runner.application.ports import Kind, LeasedJob
from services.runner.domain.agent import TurnFailure
from treadle.streaming.v1 import job_service_pb2 as pb
from treadle.streaming.v1.job_service_pb2_grpc import JobServiceStub

_CLAIM_MOST: Final = 32
_CALL_SECONDS: Final = 5.0
_REPORT_SECONDS: Final = 10.0


class StreamingJobs:
    """Implements application.ports.Jobs for sessions."""

    def __init__(self, channel: grpc.aio.Channel, runner_id: str, adapters: Sequence[str]) -> None:
        self._stub = JobServiceStub(channel)
        self._runner_id = runner_id
        self._adapters = [pb.AdapterOffer(adapter=name) for name in adapters]

    async def claim(self, claim_id: str, limit: int, wait: float) -> Sequence[LeasedJob]:
        """Long-polls; asking also says that this runner is there and what it offers."""
        request = pb.ClaimJobsRequest(
            runner_id=self._runner_id,
            adapters=self._adapters,
            max_jobs=min(limit, _CLAIM_MOST),
            claim_id=claim_id,
            wait=duration(wait),
        )
        answer = await refusing(self._stub.ClaimJobs(request, timeout=wait + _CALL_SECONDS))
        return [_job(job) for job in answer.jobs]

    async def heartbeat(self, job: LeasedJob) -> bool:
        """Whether to stop."""
        request = pb.HeartbeatJobRequest(job_id=job.id, fence=job.fence)
        answer = await refusing(self._stub.HeartbeatJob(request, timeout=_CALL_SECONDS))
        return answer.cancel

    async def start_execution(self, job: LeasedJob) -> None:
        """A session has no first effect."""

    async def complete(self, job: LeasedJob, result: bytes) -> None:
        """In good order."""
        request = pb.CompleteJobRequest(job_id=job.id, fence=job.fence)
        await refusing(self._stub.CompleteJob(request, timeout=_REPORT_SECONDS))

    async def fail(self, job: LeasedJob, code: str, detail: str, retryable: bool) -> None:
        """An agent that was stopped has exited."""
        known = code if code in set(TurnFailure) else TurnFailure.CHILD_EXIT
        request = pb.FailJobRequest(job_id=job.id, fence=job.fence, code=known, detail=detail)
        await refusing(self._stub.FailJob(request, timeout=_REPORT_SECONDS))


def _job(job: pb.Job) -> LeasedJob:
    return LeasedJob(
        id=job.id,
        kind=Kind.SESSION,
        tenant=job.tenant,
        about=job.session,
        payload=job.payload_json,
        fence=job.fence,
        attempt=job.attempt,
    )
