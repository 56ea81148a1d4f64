"""Sessions in memory with the rules of design/streaming.md S.5, as far as a runner can tell: leases, Attach, commands.

It stands for the streaming service behind a real gRPC server, so that a runner is tested over the wire. `break_after`
cuts each attach after so many messages of the runner; what was stored by then stays.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import orjson

from services.kernel.clock import SystemClock
from services.kernel.errors import Conflict, Invalid, NotAllowed, NotFound, Unavailable
from services.kernel.grpc_server import GrpcServer
from services.kernel.principal import Authenticator
from treadle.streaming.v1 import job_service_pb2 as jobs
from treadle.streaming.v1 import runner_service_pb2 as pb
from treadle.streaming.v1.job_service_pb2_grpc import JobServiceServicer, add_JobServiceServicer_to_server
from treadle.streaming.v1.runner_service_pb2_grpc import RunnerServiceServicer, add_RunnerServiceServicer_to_server


@dataclass
class FakeSession:
    """A session and its job. `stored`: the runner's events, each once, by their numbers."""

    id: str
    payload: dict[str, Any]
    state: str = "queued"
    fence: int = 0
    lease_until: float = 0.0
    cancel: bool = False
    ends: list[str] = field(default_factory=list)
    epoch: int = 0
    acked: int = 0
    stored: list[pb.RunnerEvent] = field(default_factory=list)
    attaches: list[pb.AttachOpen] = field(default_factory=list)
    commands: list[pb.SessionCommand] = field(default_factory=list)
    taken: int = 0
    adapter: list[tuple[str, str]] = field(default_factory=list)
    uploads: list[tuple[str, str]] = field(default_factory=list)
    outcomes: list[pb.GateOutcome] = field(default_factory=list)
    keeps: bool = False
    stays: int = 0
    renewals: int = 0
    refuse_gates: bool = False
    refuse_events: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def text(self) -> str:
        return "".join(event.event.text_delta.delta for event in self.stored)

    @property
    def settled(self) -> list[pb.TurnSettled]:
        return [event.turn_settled for event in self.stored if event.HasField("turn_settled")]

    @property
    def gates(self) -> list[pb.GateOpened]:
        return [event.gate_opened for event in self.stored if event.HasField("gate_opened")]

    def command(self, turn: str = "trn_1", **command: Any) -> None:
        number = len(self.commands) + 1
        self.commands.append(pb.SessionCommand(sequence=number, turn_id=turn, **command))
        self.news.set()

    def prompt(self, text: str, turn: str = "trn_1") -> None:
        self.command(turn, prompt=pb.PromptCommand(text=text))

    def answer(self, request: str, answer: dict[str, Any], kind: str = "choice", turn: str = "trn_1") -> None:
        body = pb.GateAnswerCommand(request_id=request, kind=kind, state="answered", answer_json=orjson.dumps(answer))
        self.command(turn, gate_answer=body)


class FakeStreaming(JobServiceServicer, RunnerServiceServicer):
    """`sessions` by id; `states` by digest."""

    def __init__(self, lease: float = 15.0) -> None:
        self.lease = lease
        self.sessions: dict[str, FakeSession] = {}
        self.states: dict[str, bytes] = {}
        self.claims: list[jobs.ClaimJobsRequest] = []
        self.break_after: int | None = None
        self.repeat_commands = False
        self.renews = True
        self._woken = asyncio.Event()

    def open(self, adapter: str = "scripted", state: bytes | None = None, **payload: Any) -> FakeSession:
        digest = None
        if state is not None:
            digest = hashlib.sha256(state).hexdigest()
            self.states.setdefault(digest, state)
        body = {"adapter": adapter, "provider": "", "model": "", "thinking": "medium", "agent_state": digest}
        session = FakeSession(f"ses_{len(self.sessions)}", {**body, **payload})
        self.sessions[session.id] = session
        self._woken.set()
        return session

    def lapsed(self, session: FakeSession) -> bool:
        """Whether its lease is over."""
        return session.state == "leased" and session.lease_until < time.monotonic()

    def requeue(self, session: FakeSession) -> None:
        """For another runner, as the service does when the lease is over."""
        session.state = "queued"
        self._woken.set()

    async def until(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)

    async def ClaimJobs(self, request: jobs.ClaimJobsRequest, context: Any) -> jobs.ClaimJobsResponse:
        self.claims.append(request)
        deadline = time.monotonic() + request.wait.ToNanoseconds() / 1e9
        offered = {offer.adapter for offer in request.adapters}
        while True:
            self._woken.clear()
            queued = [s for s in self.sessions.values() if s.state == "queued" and s.payload["adapter"] in offered]
            queued = queued[: request.max_jobs]
            if queued or time.monotonic() >= deadline:
                break
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._woken.wait()
            except TimeoutError:
                break
        for session in queued:
            session.state = "leased"
            session.fence += 1
            session.lease_until = time.monotonic() + self.lease
        return jobs.ClaimJobsResponse(jobs=[_job(session) for session in queued])

    async def HeartbeatJob(self, request: jobs.HeartbeatJobRequest, context: Any) -> jobs.HeartbeatJobResponse:
        session = self._held(request.job_id, request.fence)
        session.lease_until = time.monotonic() + self.lease
        return jobs.HeartbeatJobResponse(cancel=session.cancel)

    async def RenewAgentToken(self, request: jobs.RenewAgentTokenRequest, context: Any) -> jobs.RenewAgentTokenResponse:
        session = self._held(request.job_id, request.fence)
        session.renewals += 1
        if self.renews:
            return jobs.RenewAgentTokenResponse(agent_token=f"token-{session.renewals}")
        raise Unavailable("AWAY", "no tokens here")

    async def CompleteJob(self, request: jobs.CompleteJobRequest, context: Any) -> jobs.CompleteJobResponse:
        session = self.sessions[request.job_id.removeprefix("job_")]
        if request.if_idle and (session.keeps or len(session.settled) < len({one.turn_id for one in session.commands})):
            session.stays += 1
            raise NotAllowed("TURN_RUNNING", "a turn is under way")
        if session.state == "ended" and session.fence == request.fence:
            return jobs.CompleteJobResponse()
        self._end(request.job_id, request.fence, "completed")
        return jobs.CompleteJobResponse()

    async def FailJob(self, request: jobs.FailJobRequest, context: Any) -> jobs.FailJobResponse:
        self._end(request.job_id, request.fence, request.code)
        return jobs.FailJobResponse()

    async def ReadAgentState(
        self, request: pb.ReadAgentStateRequest, context: Any
    ) -> AsyncIterator[pb.AgentStateChunk]:
        self._held(request.job_id, request.fence)
        state = self.states[request.digest]
        for offset in range(0, len(state), 7):
            yield pb.AgentStateChunk(digest=request.digest, offset=offset, data=state[offset : offset + 7])

    async def Attach(
        self, request_iterator: AsyncIterator[pb.AttachRequest], context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[pb.AttachResponse]:
        opening = (await anext(aiter(request_iterator))).open
        session = self._held(opening.job_id, opening.fence)
        session.attaches.append(opening)
        if opening.epoch == 0:
            session.acked = 0
            session.stored.clear()
        session.epoch += 1
        epoch, sent = session.epoch, opening.command_sequence
        reading = asyncio.create_task(self._read(session, request_iterator))
        upload_told = len(session.uploads)
        try:
            while True:
                session.news.clear()
                commands = session.commands[0 if self.repeat_commands else sent :]
                sent = len(session.commands)
                response = pb.AttachResponse(epoch=epoch, generation=1, acked_sequence=session.acked, commands=commands)
                response.gates.extend(session.outcomes)
                session.outcomes.clear()
                if len(session.uploads) > upload_told:
                    upload_told = len(session.uploads)
                    turn, digest = session.uploads[-1]
                    response.agent_state.CopyFrom(pb.AgentStateOutcome(turn_id=turn, digest=digest))
                yield response
                waiting = asyncio.create_task(session.news.wait())
                await asyncio.wait({waiting, reading}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if reading.done():
                    reading.result()
                    return
                if session.epoch != epoch:
                    raise Conflict("ATTACH_FENCED", "a newer attach has the session")
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, session: FakeSession, requests: AsyncIterator[pb.AttachRequest]) -> None:
        pieces: dict[str, bytearray] = {}
        heard = 0
        async for request in requests:
            heard += 1
            match request.WhichOneof("message"):
                case "batch":
                    assert 0 < len(request.batch.events) <= 64
                    if session.refuse_events:
                        raise Invalid("INVALID_EVENT", "the test takes no events")
                    for event in request.batch.events:
                        self._store(session, event)
                case "command_ack":
                    session.taken = max(session.taken, request.command_ack.sequence)
                case "adapter":
                    session.adapter.append((request.adapter.state, request.adapter.code))
                case "agent_state":
                    self._keep(session, pieces, request.agent_state)
            session.news.set()
            if self.break_after is not None and heard >= self.break_after:
                raise Unavailable("BROKEN", "the test cut the way")

    def _store(self, session: FakeSession, event: pb.RunnerEvent) -> None:
        if event.sequence <= session.acked:
            return
        assert event.sequence == session.acked + 1, "an event is missing"
        session.acked = event.sequence
        session.stored.append(event)
        if event.HasField("gate_opened"):
            request = event.gate_opened.request_id
            reason = "INVALID_PROPOSAL" if session.refuse_gates else ""
            session.outcomes.append(pb.GateOutcome(request_id=request, gate_id="gat_1", reason=reason, message="no"))

    def _keep(self, session: FakeSession, pieces: dict[str, bytearray], chunk: pb.AgentStateChunk) -> None:
        state = pieces.setdefault(chunk.digest, bytearray())
        assert chunk.offset == len(state)
        assert len(chunk.data) <= 256 * 1024
        state += chunk.data
        if chunk.last:
            assert hashlib.sha256(state).hexdigest() == chunk.digest
            self.states[chunk.digest] = bytes(state)
            session.uploads.append((chunk.turn_id, chunk.digest))
            del pieces[chunk.digest]

    def _held(self, job: str, fence: int) -> FakeSession:
        session = self.sessions.get(job.removeprefix("job_"))
        if session is None:
            raise NotFound("JOB_NOT_FOUND", "there is no such job")
        if session.state != "leased" or session.fence != fence or session.lease_until < time.monotonic():
            raise Conflict("LEASE_LOST", "the lease is not yours")
        return session

    def _end(self, job: str, fence: int, end: str) -> None:
        session = self._held(job, fence)
        session.state = "ended"
        session.ends.append(end)


def _job(session: FakeSession) -> jobs.Job:
    return jobs.Job(
        id=f"job_{session.id}",
        kind=jobs.Job.KIND_SESSION,
        tenant="default",
        session=f"sessions/{session.id}",
        payload_json=orjson.dumps(session.payload),
        fence=session.fence,
        attempt=1,
    )


class StreamingServer:
    """The servicer behind a real server that can go away and come back on the same port, keeping its rows."""

    def __init__(self, service: FakeStreaming) -> None:
        self.service = service
        self.address = "127.0.0.1:0"
        self._server: GrpcServer | None = None

    async def start(self) -> None:
        servicers: Any = [
            (add_JobServiceServicer_to_server, self.service, "treadle.streaming.v1.JobService"),
            (add_RunnerServiceServicer_to_server, self.service, "treadle.streaming.v1.RunnerService"),
        ]
        self._server = GrpcServer("streaming", self.address, servicers, Authenticator(None, SystemClock()))
        self.address = await self._server.start()

    async def stop(self) -> None:
        """At once: calls under way are cut."""
        if self._server is not None:
            await self._server.stop(0)
            self._server = None
