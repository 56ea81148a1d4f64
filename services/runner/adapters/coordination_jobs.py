"""Workers of the coordination service over its gRPC stubs. Translates both ways, decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import grpc
import orjson

from services.kernel.text import encodable
from services.runner.adapters.refusing import refusing
from services.runner.adapters.threads_jobs import duration
from services.runner.application.ports import Kind, LeasedJob
from services.runner.application.workers.ports import Progress
from services.runner.domain.failure import Code, Failed, fit_detail
from services.runner.domain.worker import WorkerEnd, WorkerOrder
from treadle.coordination.v1 import job_service_pb2 as pb
from treadle.coordination.v1.job_service_pb2_grpc import JobServiceStub

_CLAIM_MOST: Final = 32
_CALL_SECONDS: Final = 5.0
_REPORT_SECONDS: Final = 10.0


class CoordinationJobs:
    """Implements claiming.Claims and workers.ports.WorkerJobs."""

    def __init__(self, channel: grpc.aio.Channel, runner_id: str) -> None:
        self._stub = JobServiceStub(channel)
        self._runner_id = runner_id

    async def claim(self, claim_id: str, limit: int, wait: float) -> Sequence[LeasedJob]:
        """Long-polls."""
        request = pb.ClaimJobsRequest(
            runner_id=self._runner_id, max_jobs=min(limit, _CLAIM_MOST), claim_id=claim_id, wait=duration(wait)
        )
        answer = await refusing(self._stub.ClaimJobs(request, timeout=wait + _CALL_SECONDS))
        return [_job(job) for job in answer.jobs]

    async def beat(self, job: LeasedJob, progress: Progress) -> bool:
        """Whether to stop."""
        answer = await refusing(self._stub.HeartbeatJob(_beat(job, progress), timeout=_CALL_SECONDS))
        return answer.cancel

    async def give_back(self, job: LeasedJob, progress: Progress) -> None:
        """A last heartbeat."""
        await refusing(self._stub.HeartbeatJob(_beat(job, progress, give_back=True), timeout=_CALL_SECONDS))

    async def end(self, job: LeasedJob, end: WorkerEnd) -> None:
        """With the final text."""
        request = pb.CompleteJobRequest(
            job_id=job.id,
            fence=job.fence,
            reason=end.reason,
            text=encodable(end.text),
            tokens=end.tokens,
            detail=fit_detail(end.detail),
        )
        await refusing(self._stub.CompleteJob(request, timeout=_REPORT_SECONDS))

    def order(self, job: LeasedJob) -> WorkerOrder:
        """The job's payload."""
        try:
            body = orjson.loads(job.payload)
            return WorkerOrder(
                worker=str(body["worker_id"]),
                name=str(body.get("name") or ""),
                session=job.about,
                title=str(body.get("title") or ""),
                prompt=str(body["prompt"]),
                adapter=str(body["adapter"]),
                provider=str(body.get("provider") or ""),
                model=str(body.get("model") or ""),
                thinking=str(body.get("thinking") or ""),
                coordinator=str(body.get("coordinator_session_id") or ""),
                token=str(body.get("agent_token") or ""),
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as fault:
            raise Failed(Code.INVALID_PAYLOAD, f"the worker's job cannot be read: {fault!r}") from fault


def _beat(job: LeasedJob, progress: Progress, give_back: bool = False) -> pb.HeartbeatJobRequest:
    return pb.HeartbeatJobRequest(
        job_id=job.id,
        fence=job.fence,
        said=progress.said,
        waiting=progress.waiting,
        tokens=progress.tokens,
        give_back=give_back,
    )


def _job(job: pb.Job) -> LeasedJob:
    return LeasedJob(
        id=job.id,
        kind=Kind.WORKER,
        tenant=job.tenant,
        about=job.session,
        payload=job.payload_json,
        fence=job.fence,
        attempt=job.attempt,
    )
