"""The jobs of the threads service over its gRPC stubs. Translates both ways, decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import grpc
from google.protobuf.duration_pb2 import Duration

from services.runner.adapters.refusing import refusing
from services.runner.application.ports import Kind, LeasedJob
from treadle.threads.v1 import job_service_pb2 as pb
from treadle.threads.v1.job_service_pb2_grpc import JobServiceStub

_KINDS: Final = {
    Kind.INFERENCE: pb.Job.KIND_INFERENCE,
    Kind.EXECUTION: pb.Job.KIND_EXECUTION,
    Kind.CLEANUP: pb.Job.KIND_CLEANUP,
}
_NAMES: Final = {number: kind for kind, number in _KINDS.items()}
_CALL_SECONDS: Final = 5.0
"""Deadline of a call that does not wait for work."""
_REPORT_SECONDS: Final = 10.0


class ThreadsJobs:
    """Implements application.ports.Jobs."""

    def __init__(self, channel: grpc.aio.Channel, runner_id: str, kinds: Sequence[Kind] = tuple(_KINDS)) -> None:
        self._stub = JobServiceStub(channel)
        self._runner_id = runner_id
        self._kinds = [_KINDS[kind] for kind in kinds]

    async def claim(self, claim_id: str, limit: int, wait: float) -> Sequence[LeasedJob]:
        """Long-polls; the deadline leaves the service a little more than the wait."""
        request = pb.ClaimJobsRequest(
            runner_id=self._runner_id,
            kinds=self._kinds,
            max_jobs=limit,
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
        """Before the first effect."""
        request = pb.StartExecutionRequest(job_id=job.id, fence=job.fence)
        await refusing(self._stub.StartExecution(request, timeout=_CALL_SECONDS))

    async def complete(self, job: LeasedJob, result: bytes) -> None:
        """With a result."""
        request = pb.CompleteJobRequest(job_id=job.id, fence=job.fence, result_json=result)
        await refusing(self._stub.CompleteJob(request, timeout=_REPORT_SECONDS))

    async def fail(self, job: LeasedJob, code: str, detail: str, retryable: bool) -> None:
        """Without one."""
        request = pb.FailJobRequest(job_id=job.id, fence=job.fence, code=code, detail=detail, retryable=retryable)
        await refusing(self._stub.FailJob(request, timeout=_REPORT_SECONDS))


def duration(seconds: float) -> Duration:
    whole = int(seconds)
    return Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))


def _job(job: pb.Job) -> LeasedJob:
    return LeasedJob(
        id=job.id,
        kind=_NAMES[job.kind],
        tenant=job.tenant,
        about=job.thread,
        payload=job.payload_json,
        fence=job.fence,
        attempt=job.attempt,
    )
