"""JobService over the use cases of runners. Needs the role runner."""

from __future__ import annotations

import re
from typing import Any, Final

import grpc

from services.kernel.access import caller
from services.kernel.errors import Invalid, TooLarge
from services.threads.application.ports import JobKind
from services.threads.application.runners import LeasedJob, Runners
from services.threads.domain.canonical import canonical_json
from services.threads.transport import reading
from services.threads.transport.calling import runner_of
from services.threads.transport.card import timestamp
from treadle.threads.v1 import job_service_pb2 as pb
from treadle.threads.v1.job_service_pb2_grpc import JobServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_KINDS: Final = {
    pb.Job.KIND_INFERENCE: JobKind.INFERENCE,
    pb.Job.KIND_EXECUTION: JobKind.EXECUTION,
    pb.Job.KIND_CLEANUP: JobKind.CLEANUP,
}
_NUMBERS: Final = {kind: number for number, kind in _KINDS.items()}
_NAME: Final = re.compile(r"[!-~]{1,128}")
_CODE: Final = re.compile(r"[a-z0-9_]{1,64}")
_WAIT_MOST: Final = 60.0
_JOBS_MOST: Final = 32
_DETAIL_MOST: Final = 16 * 1024


class JobServicer(JobServiceServicer):
    """How runners take work."""

    def __init__(self, runners: Runners) -> None:
        self._runners = runners

    async def ClaimJobs(self, request: pb.ClaimJobsRequest, context: _Context) -> pb.ClaimJobsResponse:
        """Long-polls."""
        runner = runner_of(caller("runner"))
        for field in ("runner_id", "claim_id"):
            if _NAME.fullmatch(getattr(request, field)) is None:
                raise Invalid("INVALID_FIELD", f"{field} must be 1..128 printable ASCII characters", field=field)
        kinds = [_KINDS[kind] for kind in request.kinds if kind in _KINDS]
        if not kinds:
            raise Invalid("INVALID_FIELD", "at least one kind is needed", field="kinds")
        if request.max_jobs < 0:
            raise Invalid("INVALID_FIELD", "max_jobs must not be negative", field="max_jobs")
        wait = request.wait.seconds + request.wait.nanos / 1e9
        leased = await self._runners.claim(
            runner,
            kinds,
            request.runner_id,
            request.claim_id,
            min(request.max_jobs or 1, _JOBS_MOST),
            max(0.0, min(wait, _WAIT_MOST)),
        )
        return pb.ClaimJobsResponse(jobs=[_job(one) for one in leased])

    async def HeartbeatJob(self, request: pb.HeartbeatJobRequest, context: _Context) -> pb.HeartbeatJobResponse:
        """Keeps the lease."""
        caller("runner")
        until, cancel = await self._runners.heartbeat(request.job_id, request.fence)
        return pb.HeartbeatJobResponse(lease_expire_time=timestamp(until), cancel=cancel)

    async def StartExecution(self, request: pb.StartExecutionRequest, context: _Context) -> pb.StartExecutionResponse:
        """The first effect follows."""
        await self._runners.start(runner_of(caller("runner")), request.job_id, request.fence)
        return pb.StartExecutionResponse()

    async def CompleteJob(self, request: pb.CompleteJobRequest, context: _Context) -> pb.CompleteJobResponse:
        """With a result."""
        runner = runner_of(caller("runner"))
        result = reading.json_object("result", request.result_json)
        await self._runners.complete(runner, request.job_id, request.fence, result)
        return pb.CompleteJobResponse()

    async def FailJob(self, request: pb.FailJobRequest, context: _Context) -> pb.FailJobResponse:
        """Without one."""
        runner = runner_of(caller("runner"))
        if _CODE.fullmatch(request.code) is None:
            raise Invalid("INVALID_FIELD", "code must match [a-z0-9_]{1,64}", field="code")
        if len(request.detail.encode()) > _DETAIL_MOST:
            raise TooLarge("VALUE_TOO_LARGE", "detail is at most 16 KiB", field="detail", limit=_DETAIL_MOST)
        await self._runners.fail(
            runner, request.job_id, request.fence, request.code, request.detail, retryable=request.retryable
        )
        return pb.FailJobResponse()


def _job(leased: LeasedJob) -> pb.Job:
    job = leased.job
    shown = pb.Job(
        id=job.id,
        kind=_NUMBERS[job.kind],
        tenant=job.tenant,
        thread=f"threads/{job.thread_id}",
        payload_json=canonical_json(leased.payload),
        fence=job.fence,
        attempt=job.attempt,
    )
    if job.lease_until is not None:
        shown.lease_expire_time.CopyFrom(timestamp(job.lease_until))
    return shown
