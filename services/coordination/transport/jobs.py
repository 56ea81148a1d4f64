"""JobService over the runs of workers. Needs the role `runner`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import grpc
import orjson

from services.coordination.application.run_ports import Leased
from services.coordination.application.running import Beat, Running
from services.coordination.domain.worker import Worker
from services.coordination.transport.access import RUNNERS
from services.kernel.access import caller
from services.kernel.errors import Invalid, TooLarge
from services.kernel.principal import Authenticator, Principal
from treadle.coordination.v1 import job_service_pb2 as pb
from treadle.coordination.v1.job_service_pb2_grpc import JobServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_NAME: Final = re.compile(r"[!-~]{1,128}")
_WAIT_MOST: Final = 60.0
_MOST: Final = 32
_DETAIL_MOST: Final = 16 * 1024
_TOKENS_MOST: Final = 2**53
TOKEN_LIVES: Final = timedelta(days=7)
"""A worker may wait for a person over a weekend; its token acts for its own session alone."""


class JobServicer(JobServiceServicer):
    """How runners take workers. `token_for` mints the worker's own token."""

    def __init__(self, running: Running, token_for: Callable[[Worker], str]) -> None:
        self._running = running
        self._token_for = token_for

    async def ClaimJobs(self, request: pb.ClaimJobsRequest, context: _Context) -> pb.ClaimJobsResponse:
        """Long-polls."""
        caller(*RUNNERS)
        for field in ("runner_id", "claim_id"):
            if _NAME.fullmatch(getattr(request, field)) is None:
                raise Invalid("INVALID_ARGUMENT", f"{field} must be 1..128 printable ASCII characters", field=field)
        if not 1 <= request.max_jobs <= _MOST:
            raise Invalid("INVALID_ARGUMENT", f"max_jobs must be 1..{_MOST}", field="max_jobs", limit=_MOST)
        wait = request.wait.seconds + request.wait.nanos / 1e9
        leased = await self._running.claim(
            request.runner_id, request.claim_id, request.max_jobs, max(0.0, min(wait, _WAIT_MOST))
        )
        return pb.ClaimJobsResponse(jobs=[self._job(one) for one in leased])

    async def HeartbeatJob(self, request: pb.HeartbeatJobRequest, context: _Context) -> pb.HeartbeatJobResponse:
        """Keeps the lease."""
        caller(*RUNNERS)
        beat = Beat(request.said, request.waiting, _tokens(request.tokens), request.give_back)
        until, cancel = await self._running.heartbeat(request.job_id, request.fence, beat)
        answer = pb.HeartbeatJobResponse(cancel=cancel)
        answer.lease_expire_time.FromDatetime(until)
        return answer

    async def ReportJob(self, request: pb.ReportJobRequest, context: _Context) -> pb.ReportJobResponse:
        """In between."""
        caller(*RUNNERS)
        return pb.ReportJobResponse(version=await self._running.report(request.job_id, request.fence, request.text))

    async def CompleteJob(self, request: pb.CompleteJobRequest, context: _Context) -> pb.CompleteJobResponse:
        """The end."""
        caller(*RUNNERS)
        if len(request.detail.encode()) > _DETAIL_MOST:
            raise TooLarge(
                "VALUE_TOO_LARGE", f"detail has at most {_DETAIL_MOST} bytes", field="detail", limit=_DETAIL_MOST
            )
        await self._running.complete(
            request.job_id, request.fence, request.reason, request.text, _tokens(request.tokens), request.detail
        )
        return pb.CompleteJobResponse()

    def _job(self, leased: Leased) -> pb.Job:
        worker, job = leased.worker, leased.job
        payload = {
            "worker_id": worker.id,
            "name": worker.name,
            "coordinator_session_id": worker.coordinator_id,
            "title": f"Thread: {worker.name}",
            "prompt": worker.brief,
            "adapter": worker.adapter,
            "provider": worker.provider,
            "model": worker.model,
            "thinking": worker.thinking,
            "agent_token": self._token_for(worker),
        }
        message = pb.Job(
            id=job.id,
            kind=pb.Job.KIND_WORKER,
            tenant=worker.tenant,
            session=f"sessions/{worker.session_id}",
            payload_json=orjson.dumps(payload, option=orjson.OPT_SORT_KEYS),
            fence=job.fence,
            attempt=job.attempt,
        )
        if job.lease_until is not None:
            message.lease_expire_time.FromDatetime(job.lease_until)
        return message


def agent_token(authenticator: Authenticator, worker: Worker) -> str:
    """By which the worker's agent, and the runner for it, acts for the worker's session."""
    agent = Principal(worker.tenant, worker.session_id, "agent", frozenset({"agent"}))
    return authenticator.mint(agent, TOKEN_LIVES)


def _tokens(count: int) -> int:
    """How many tokens; refused where it can be no count."""
    if not 0 <= count <= _TOKENS_MOST:
        raise Invalid("INVALID_ARGUMENT", f"tokens must be 0..{_TOKENS_MOST}", field="tokens", limit=_TOKENS_MOST)
    return count
