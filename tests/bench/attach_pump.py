"""A runner's side of a session, as fast as it is let: events through Attach in batches, and what is acknowledged.

Neighbouring events never belong to one block, so that the service cannot join them: each event that is accepted is
one entry of the log and one frame on the stream, and counts are of the same thing everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from treadle.streaming.v1 import job_service_pb2 as jobs
from treadle.streaming.v1 import runner_service_pb2 as pb
from treadle.streaming.v1 import session_event_pb2 as events
from treadle.streaming.v1 import session_service_pb2 as sessions
from treadle.streaming.v1.job_service_pb2_grpc import JobServiceStub
from treadle.streaming.v1.runner_service_pb2_grpc import RunnerServiceStub
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub

BATCH_MOST = 64
_RUNNER = "bench"
_BEAT_SECONDS = 3


class AttachEnded(Exception):
    """The service ended the stream while events were to be acknowledged."""


class AttachPump:
    """One attached session. `acked`: everything up to there is in the log."""

    def __init__(self, call: grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse]) -> None:
        self._call = call
        self._sequence = 0
        self.acked = 0
        self._news = asyncio.Event()
        self._writing = asyncio.Lock()
        self._reading = asyncio.create_task(self._read())

    async def send(self, texts: list[str]) -> None:
        """As fan_out.Pump."""
        async with self._writing:  # a call takes one write at a time
            batch = []
            for text in texts:
                self._sequence += 1
                delta = events.TextDelta(delta=text, block=self._sequence % 2)
                batch.append(pb.RunnerEvent(sequence=self._sequence, event=events.SessionEvent(text_delta=delta)))
            await self._call.write(pb.AttachRequest(batch=pb.EventBatch(events=batch)))

    async def until_acked(self, sequence: int) -> None:
        """Waits until so many are acknowledged."""
        while self.acked < sequence:
            if self._reading.done():
                self._reading.result()
                raise AttachEnded(f"at {self.acked} of {sequence}")
            self._news.clear()
            await self._news.wait()

    async def stream(self, count: int, text: str, window: int) -> None:
        """Sends `count` events in full batches, at most `window` of them not acknowledged; waits for the last."""
        base = sent = self._sequence
        while sent - base < count:
            await self.until_acked(sent + BATCH_MOST - window)
            most = min(BATCH_MOST, base + count - sent)
            await self.send([text] * most)
            sent += most
        await self.until_acked(base + count)

    async def _read(self) -> None:
        try:
            while isinstance(answer := await self._call.read(), pb.AttachResponse):
                self.acked = answer.acked_sequence
                self._news.set()
        finally:
            self._news.set()

    async def close(self) -> None:
        """Says that that was all, and waits for the end."""
        await self._call.done_writing()
        await self._reading


async def new_session(channel: grpc.aio.Channel) -> str:
    """Opens a session; its name, `sessions/{id}`."""
    answer = await SessionServiceStub(channel).CreateSession(sessions.CreateSessionRequest(adapter="scripted"))
    return answer.name


@asynccontextmanager
async def attached(channel: grpc.aio.Channel, session: str) -> AsyncIterator[AttachPump]:
    """Claims the session and holds it; returns once the service has answered."""
    job = await _claimed(channel, session)
    call = RunnerServiceStub(channel).Attach()
    opening = pb.AttachOpen(session=session, runner_id=_RUNNER, job_id=job.id, fence=job.fence)
    await call.write(pb.AttachRequest(open=opening))
    first = await call.read()
    if not isinstance(first, pb.AttachResponse):
        raise AttachEnded(f"{await call.code()} {await call.details()}")
    pump, beating = AttachPump(call), asyncio.create_task(_beat(channel, job))
    try:
        yield pump
        await pump.close()
    finally:
        beating.cancel()
        call.cancel()


async def _claimed(channel: grpc.aio.Channel, session: str) -> jobs.Job:
    """The session's job: the only one that is queued."""
    stub, offer = JobServiceStub(channel), jobs.AdapterOffer(adapter="scripted")
    here = jobs.ClaimJobsRequest(runner_id=_RUNNER, adapters=[offer], claim_id=f"{session}-0")
    await stub.ClaimJobs(here)  # says that it is there
    await SessionServiceStub(channel).ResumeSession(sessions.ResumeSessionRequest(name=session))
    claim = jobs.ClaimJobsRequest(runner_id=_RUNNER, adapters=[offer], claim_id=f"{session}-1", max_jobs=1)
    claim.wait.seconds = 30
    (job,) = (await stub.ClaimJobs(claim)).jobs
    if job.session != session:
        raise AttachEnded(f"{job.session} was claimed instead of {session}")
    return job


async def _beat(channel: grpc.aio.Channel, job: jobs.Job) -> None:
    while True:
        await asyncio.sleep(_BEAT_SECONDS)
        await JobServiceStub(channel).HeartbeatJob(jobs.HeartbeatJobRequest(job_id=job.id, fence=job.fence))
