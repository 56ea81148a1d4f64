"""Runners that wait at threads and at streaming, each with a claim as the real runner sends it."""

from __future__ import annotations

from itertools import count
from typing import Final

import grpc
from google.protobuf.duration_pb2 import Duration

from tests.bench.dispatch import Leased
from treadle.streaming.v1 import job_service_pb2 as streaming
from treadle.streaming.v1.job_service_pb2_grpc import JobServiceStub as StreamingStub
from treadle.threads.v1 import job_service_pb2 as threads
from treadle.threads.v1.job_service_pb2_grpc import JobServiceStub as ThreadsStub

_RUNNER: Final = "bench"
_WAIT: Final = 20
"""Seconds that a claim waits."""
_CODE: Final = "bench_over"
_claims = count(1)


class ThreadsRunner:
    """Of one kind of job."""

    def __init__(self, channel: grpc.aio.Channel, kind: threads.Job.Kind.ValueType) -> None:
        self._stub = ThreadsStub(channel)
        self._kind = kind

    async def claim(self) -> list[Leased]:
        """As WaitingRunner."""
        request = threads.ClaimJobsRequest(
            runner_id=_RUNNER, claim_id=_claim_id(), kinds=[self._kind], max_jobs=1, wait=Duration(seconds=_WAIT)
        )
        return [Leased(job.id, job.fence, job.thread) for job in (await self._stub.ClaimJobs(request)).jobs]

    async def end(self, job: Leased) -> None:
        """As WaitingRunner."""
        await self._stub.FailJob(threads.FailJobRequest(job_id=job.job_id, fence=job.fence, code=_CODE))


class StreamingRunner:
    """Of sessions of the adapter `scripted`."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = StreamingStub(channel)

    async def claim(self) -> list[Leased]:
        """As WaitingRunner."""
        request = streaming.ClaimJobsRequest(
            runner_id=_RUNNER,
            claim_id=_claim_id(),
            adapters=[streaming.AdapterOffer(adapter="scripted")],
            max_jobs=1,
            wait=Duration(seconds=_WAIT),
        )
        return [Leased(job.id, job.fence, job.session) for job in (await self._stub.ClaimJobs(request)).jobs]

    async def end(self, job: Leased) -> None:
        """As WaitingRunner."""
        await self._stub.FailJob(streaming.FailJobRequest(job_id=job.job_id, fence=job.fence, code=_CODE))


def _claim_id() -> str:
    return f"bench-{next(_claims)}"
