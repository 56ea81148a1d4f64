"""A runner by hand: claims sessions over gRPC, really attaches, and does with each what the test tells it to."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import grpc
import orjson
from google.protobuf.duration_pb2 import Duration

from services.kernel.grpc_errors import refusal_from
from tests.integration.streaming.client import Streaming
from treadle.streaming.v1 import job_service_pb2 as jobs
from treadle.streaming.v1 import runner_service_pb2 as runners
from treadle.streaming.v1 import session_event_pb2 as events
from treadle.streaming.v1.job_service_pb2_grpc import JobServiceStub


class Held:
    """A session that the runner holds, with its agent."""

    def __init__(self, streaming: Streaming, job: jobs.Job, runner_id: str) -> None:
        self.streaming = streaming
        self.job = job
        self.runner_id = runner_id
        self.epoch = 0
        self.generation = 0
        self.acked = 0
        self.sequence = 0
        self.said: list[runners.RunnerEvent] = []
        self.taken = 0
        self.commands: list[runners.SessionCommand] = []
        self.gates: dict[str, runners.GateOutcome] = {}
        self.states: list[runners.AgentStateOutcome] = []
        self.error: grpc.aio.AioRpcError | None = None
        self.ended = asyncio.Event()
        self._call: Any = None
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    @property
    def payload(self) -> dict[str, Any]:
        """What the job says."""
        answer: dict[str, Any] = orjson.loads(self.job.payload_json)
        return answer

    @property
    def refusal(self) -> str:
        """The reason that ended the attachment; empty where it ended well."""
        refusal = None if self.error is None else refusal_from(self.error)
        return "" if refusal is None else refusal.reason

    async def attach(self, streaming: Streaming | None = None) -> Held:
        """Attaches (again), by this replica or another; what is not stored is sent again."""
        await self.detach()
        self.streaming = streaming or self.streaming
        self.ended.clear()
        self.error = None
        self._call = self.streaming.runners.Attach()
        opening = runners.AttachOpen(
            session=self.job.session,
            runner_id=self.runner_id,
            epoch=self.epoch,
            job_id=self.job.id,
            fence=self.job.fence,
            command_sequence=self.taken,
        )
        await self._call.write(runners.AttachRequest(open=opening))
        first = await self._call.read()
        if not isinstance(first, runners.AttachResponse):
            raise await self._fault()
        self.epoch, self.generation = first.epoch, first.generation
        await self._hear(first)
        unsaved = [one for one in self.said if one.sequence > first.acked_sequence]
        for start in range(0, len(unsaved), 64):
            batch = runners.EventBatch(events=unsaved[start : start + 64])
            await self._call.write(runners.AttachRequest(batch=batch))
        self._task = asyncio.create_task(self._read())
        return self

    async def detach(self) -> None:
        """The connection breaks; the agent lives on."""
        if self._call is not None:
            self._call.cancel()
        if self._task is not None:
            await self._task
            self._task = None

    async def command(self, kind: str, seconds: float = 15) -> runners.SessionCommand:
        """Waits for the next command, which is of that kind, and takes it."""
        await self.until(lambda: bool(self.commands) or self.ended.is_set(), seconds)
        command = self.commands.pop(0)
        assert command.WhichOneof("command") == kind, command
        if command.sequence:
            self.taken = command.sequence
            ack = runners.CommandAck(sequence=command.sequence)
            await self._call.write(runners.AttachRequest(command_ack=ack))
        return command

    async def say(self, **said: Any) -> int:
        """One thing, as the next number."""
        self.sequence += 1
        one = runners.RunnerEvent(sequence=self.sequence, **said)
        self.said.append(one)
        await self._call.write(runners.AttachRequest(batch=runners.EventBatch(events=[one])))
        return self.sequence

    async def text(self, delta: str, block: int = 0) -> int:
        """A piece of final text."""
        return await self.say(event=events.SessionEvent(text_delta=events.TextDelta(delta=delta, block=block)))

    async def tool(self, call_id: str, status: str, name: str = "bash") -> int:
        """A tool."""
        return await self.say(event=events.SessionEvent(tool=events.Tool(call_id=call_id, name=name, status=status)))

    async def ask(self, request_id: str, kind: str, proposal: object, timeout_seconds: int = 0) -> runners.GateOutcome:
        """Opens a gate; what became of it."""
        raw = proposal if isinstance(proposal, bytes) else orjson.dumps(proposal)
        self.gates.pop(request_id, None)
        await self.say(
            gate_opened=runners.GateOpened(
                request_id=request_id, kind=kind, proposal_json=raw, timeout_seconds=timeout_seconds
            )
        )
        await self.until(lambda: request_id in self.gates)
        return self.gates[request_id]

    async def settle(self, turn_id: str, outcome: str = "ok", **fields: Any) -> int:
        """The turn is over; waits until that is stored."""
        number = await self.say(turn_settled=runners.TurnSettled(turn_id=turn_id, outcome=outcome, **fields))
        await self.stored(number)
        return number

    async def stored(self, number: int | None = None, seconds: float = 20) -> None:
        """Waits until everything up to the number is stored."""
        await self.until(lambda: self.ended.is_set() or self.acked >= (number or self.sequence), seconds)
        if self.acked < (number or self.sequence):
            raise self.error or AssertionError("the attachment ended before everything was stored")

    async def upload(self, turn_id: str, data: bytes, digest: str = "", step: int = 256 * 1024) -> Any:
        """The agent's state; what became of it."""
        digest = digest or hashlib.sha256(data).hexdigest()
        had = len(self.states)
        for offset in range(0, max(len(data), 1), step):
            part = data[offset : offset + step]
            chunk = runners.AgentStateChunk(
                turn_id=turn_id, digest=digest, offset=offset, data=part, last=offset + step >= len(data)
            )
            await self._call.write(runners.AttachRequest(agent_state=chunk))
        await self.until(lambda: len(self.states) > had)
        return self.states[-1]

    async def ready(self, turn_id: str = "", **usage: int) -> None:
        """The agent lives, and says what its turn has cost so far."""
        counted = runners.Usage(**usage) if usage else None
        state = runners.AdapterState(state="ready", turn_id=turn_id, usage=counted)
        await self._call.write(runners.AttachRequest(adapter=state))

    async def exit(self, code: str = "") -> None:
        """The agent is gone."""
        state = runners.AdapterState(state="exited", code=code)
        await self._call.write(runners.AttachRequest(adapter=state))
        await self.ended.wait()

    async def until(self, holds: Callable[[], bool], seconds: float = 15) -> None:
        """Waits until it holds."""
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(holds)

    async def _read(self) -> None:
        try:
            while isinstance(answer := await self._call.read(), runners.AttachResponse):
                async with self._news:
                    await self._hear(answer)
                    self._news.notify_all()
            self.error = await self._fault()
        except (grpc.aio.AioRpcError, asyncio.CancelledError) as error:
            self.error = error if isinstance(error, grpc.aio.AioRpcError) else None
        finally:
            self.ended.set()
            async with self._news:
                self._news.notify_all()

    async def _hear(self, answer: runners.AttachResponse) -> None:
        self.acked = max(self.acked, answer.acked_sequence)
        newest = max([self.taken, *(one.sequence for one in self.commands)])
        self.commands += [one for one in answer.commands if one.sequence > newest or not one.sequence]
        self.gates.update({one.request_id: one for one in answer.gates})
        if answer.HasField("agent_state"):
            self.states.append(answer.agent_state)

    async def _fault(self) -> grpc.aio.AioRpcError:
        call = self._call
        return grpc.aio.AioRpcError(
            await call.code(), await call.initial_metadata(), await call.trailing_metadata(), await call.details()
        )


class FakeRunner:
    """Claims and holds; keeps its leases by heartbeats until told to be silent."""

    def __init__(self, streaming: Streaming, runner_id: str = "runner-1", adapter: str = "scripted") -> None:
        self.streaming = streaming
        self.runner_id = runner_id
        self.offers = [jobs.AdapterOffer(adapter=adapter)]
        self.stub = JobServiceStub(streaming.channel)
        self.held: list[Held] = []
        self.beats: set[asyncio.Task[None]] = set()
        self._claims = 0

    async def announce(self) -> None:
        """Says that it is there."""
        await self.claim_jobs(0, 0)

    async def claim_jobs(self, most: int = 1, seconds: float = 10) -> list[jobs.Job]:
        """What is there to do."""
        self._claims += 1
        request = jobs.ClaimJobsRequest(
            runner_id=self.runner_id,
            adapters=self.offers,
            max_jobs=most,
            claim_id=f"{self.runner_id}-{self._claims}",
            wait=Duration(seconds=int(seconds), nanos=int(seconds % 1 * 1e9)),
        )
        return list((await self.stub.ClaimJobs(request)).jobs)

    async def take(self, *, beats: bool = True, seconds: float = 10) -> Held:
        """Claims one session and attaches to it."""
        (job,) = await self.claim_jobs(1, seconds)
        held = Held(self.streaming, job, self.runner_id)
        self.hold(held, beats=beats)
        return await held.attach()

    def hold(self, held: Held, *, beats: bool = True) -> None:
        """Keeps its lease from now on."""
        self.held.append(held)
        if beats:
            self.beats.add(asyncio.create_task(self._beat(held.job)))

    def silence(self) -> None:
        """No more heartbeats: as if it was killed."""
        for task in self.beats:
            task.cancel()

    async def close(self) -> None:
        """Ends everything."""
        self.silence()
        for held in self.held:
            await held.detach()

    async def _beat(self, job: jobs.Job) -> None:
        with suppress(grpc.aio.AioRpcError, asyncio.CancelledError):
            while True:
                await self.stub.HeartbeatJob(jobs.HeartbeatJobRequest(job_id=job.id, fence=job.fence))
                await asyncio.sleep(0.1)


@asynccontextmanager
async def running(streaming: Streaming, **fields: Any) -> AsyncIterator[FakeRunner]:
    """A runner at this replica."""
    runner = FakeRunner(streaming, **fields)
    try:
        yield runner
    finally:
        await runner.close()
