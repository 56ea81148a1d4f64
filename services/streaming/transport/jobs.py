"""JobService of sessions. Needs the role runner."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import grpc
import orjson

from services.kernel.access import caller
from services.kernel.errors import Invalid, TooLarge
from services.streaming.application.agent_ports import Leased
from services.streaming.application.agents import AgentSide
from services.streaming.application.working import Working
from services.streaming.domain.offers import Offer
from services.streaming.transport.access import RUNNERS
from treadle.streaming.v1 import job_service_pb2 as pb
from treadle.streaming.v1.job_service_pb2_grpc import JobServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_NAME: Final = re.compile(r"[!-~]{1,128}")
_ADAPTER: Final = re.compile(r"[a-z0-9_-]{1,63}")
_WAIT_MOST: Final = 60.0
_MOST: Final = 32
_KNOWN_MOST: Final = 500
_DETAIL_MOST: Final = 16 * 1024


class JobServicer(JobServiceServicer):
    """How runners take sessions. `token_for` mints the token of a tenant's session; None where none is asked for."""

    def __init__(self, working: Working, agents: AgentSide, token_for: Callable[[str, str], str | None]) -> None:
        self._working = working
        self._agents = agents
        self._token_for = token_for

    async def ClaimJobs(self, request: pb.ClaimJobsRequest, context: _Context) -> pb.ClaimJobsResponse:
        """Long-polls."""
        caller(*RUNNERS)
        for field in ("runner_id", "claim_id"):
            if _NAME.fullmatch(getattr(request, field)) is None:
                raise _invalid(field, "must be 1..128 printable ASCII characters")
        if not 0 < len(request.adapters) <= _MOST:
            raise _invalid("adapters", f"must be 1..{_MOST}")
        if request.max_jobs < 0:
            raise _invalid("max_jobs", "must not be negative")
        wait = request.wait.seconds + request.wait.nanos / 1e9
        leased = await self._working.claim(
            request.runner_id,
            request.claim_id,
            list({one.adapter: _offer(one) for one in request.adapters}.values()),
            min(request.max_jobs, _MOST),
            max(0.0, min(wait, _WAIT_MOST)),
        )
        return pb.ClaimJobsResponse(jobs=[self._job(one) for one in leased])

    async def HeartbeatJob(self, request: pb.HeartbeatJobRequest, context: _Context) -> pb.HeartbeatJobResponse:
        """Keeps the lease."""
        caller(*RUNNERS)
        answer = pb.HeartbeatJobResponse()
        answer.lease_expire_time.FromDatetime(await self._working.heartbeat(request.job_id, request.fence))
        return answer

    async def RenewAgentToken(
        self, request: pb.RenewAgentTokenRequest, context: _Context
    ) -> pb.RenewAgentTokenResponse:
        """For who holds the session's job."""
        caller(*RUNNERS)
        hold = await self._agents.hold(request.job_id, request.fence)
        return pb.RenewAgentTokenResponse(agent_token=self._token_for(hold.key.tenant, hold.key.session) or "")

    async def CompleteJob(self, request: pb.CompleteJobRequest, context: _Context) -> pb.CompleteJobResponse:
        """In good order."""
        caller(*RUNNERS)
        await self._agents.ended(request.job_id, request.fence, "", "", orderly=True, if_idle=request.if_idle)
        return pb.CompleteJobResponse()

    async def FailJob(self, request: pb.FailJobRequest, context: _Context) -> pb.FailJobResponse:
        """Not in good order."""
        caller(*RUNNERS)
        if len(request.detail.encode()) > _DETAIL_MOST:
            raise TooLarge("VALUE_TOO_LARGE", "detail is at most 16 KiB", field="detail", limit=_DETAIL_MOST)
        await self._agents.ended(
            request.job_id, request.fence, request.code or "child_exit", request.detail, orderly=False
        )
        return pb.FailJobResponse()

    def _job(self, leased: Leased) -> pb.Job:
        session = leased.session
        payload = {
            "adapter": session.adapter,
            "provider": session.provider,
            "model": session.model,
            "thinking": session.thinking,
            "title": session.title,
            "agent_state": session.agent_state or None,
            "agent_token": self._token_for(session.tenant, session.id),
        }
        job = pb.Job(
            id=leased.job_id,
            kind=pb.Job.KIND_SESSION,
            tenant=session.tenant,
            session=f"sessions/{session.id}",
            payload_json=orjson.dumps(payload, option=orjson.OPT_SORT_KEYS),
            fence=leased.fence,
            attempt=leased.attempt,
        )
        if leased.lease_until is not None:
            job.lease_expire_time.FromDatetime(leased.lease_until)
        return job


def _offer(message: pb.AdapterOffer) -> Offer:
    if _ADAPTER.fullmatch(message.adapter) is None:
        raise _invalid("adapters", "each adapter must match [a-z0-9_-]{1,63}")
    if len(message.providers) > _KNOWN_MOST or len(message.models) > _KNOWN_MOST:
        raise _invalid("adapters", f"each names at most {_KNOWN_MOST} providers and models")
    return Offer(message.adapter, tuple(message.providers), tuple(message.models))


def _invalid(field: str, must: str) -> Invalid:
    return Invalid("INVALID_ARGUMENT", f"{field} {must}", field=field)
