"""Sessions of the streaming service: Attach and the agent's state over its gRPC stubs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import grpc

from services.kernel.errors import Unavailable
from services.runner.adapters.refusing import refusal_of, refusing
from services.runner.adapters.session_messages import answer_of, event_of, order_of
from services.runner.application.ports import LeasedJob
from services.runner.application.sessions.ports import Answer, Attachment, Opening
from services.runner.domain.agent import Usage
from services.runner.domain.session import Said, SessionOrder
from treadle.streaming.v1 import job_service_pb2 as jobs
from treadle.streaming.v1 import runner_service_pb2 as pb
from treadle.streaming.v1.job_service_pb2_grpc import JobServiceStub
from treadle.streaming.v1.runner_service_pb2_grpc import RunnerServiceStub

CHUNK_BYTES: Final = 256 * 1024
_QUEUED_MOST: Final = 4
"""Messages between us and the wire; more wait in the outbox."""
_READ_SECONDS: Final = 60.0
_CALL_SECONDS: Final = 5.0


class StreamingSessions:
    """Implements application.sessions.ports.SessionOwner."""

    def __init__(self, channel: grpc.aio.Channel, runner_id: str) -> None:
        self._stub = RunnerServiceStub(channel)
        self._jobs = JobServiceStub(channel)
        self._runner_id = runner_id

    @asynccontextmanager
    async def attach(self, opening: Opening) -> AsyncIterator[Attachment]:
        """One call; leaving the context ends it."""
        asked: asyncio.Queue[pb.AttachRequest | None] = asyncio.Queue(_QUEUED_MOST)
        asked.put_nowait(
            pb.AttachRequest(
                open=pb.AttachOpen(
                    session=opening.job.about,
                    runner_id=self._runner_id,
                    epoch=opening.epoch,
                    job_id=opening.job.id,
                    fence=opening.job.fence,
                    command_sequence=opening.taken,
                )
            )
        )

        async def requests() -> AsyncIterator[pb.AttachRequest]:
            while (request := await asked.get()) is not None:
                yield request

        call = self._stub.Attach(requests())
        try:
            yield _Call(call, asked)
        finally:
            call.cancel()
            # A call that the owner has ended does not let go of its requests by itself: they end here.
            while not asked.empty():
                asked.get_nowait()
            asked.put_nowait(None)

    async def state(self, job: LeasedJob, digest: str) -> bytes:
        """In one piece."""
        request = pb.ReadAgentStateRequest(job_id=job.id, fence=job.fence, digest=digest)
        state = bytearray()
        try:
            async for chunk in self._stub.ReadAgentState(request, timeout=_READ_SECONDS):
                if chunk.offset != len(state):
                    raise Unavailable("STATE_BROKEN", "a piece of the agent's state is missing")
                state += chunk.data
        except grpc.aio.AioRpcError as error:
            raise refusal_of(error) from None
        return bytes(state)

    async def token(self, job: LeasedJob) -> str:
        """As the job's payload had one."""
        request = jobs.RenewAgentTokenRequest(job_id=job.id, fence=job.fence)
        return (await refusing(self._jobs.RenewAgentToken(request, timeout=_CALL_SECONDS))).agent_token

    async def leave(self, job: LeasedJob) -> None:
        """A job that is completed if nothing is to be done."""
        request = jobs.CompleteJobRequest(job_id=job.id, fence=job.fence, if_idle=True)
        await refusing(self._jobs.CompleteJob(request, timeout=_CALL_SECONDS))

    def order(self, job: LeasedJob) -> SessionOrder:
        """The job's payload."""
        return order_of(job)


class _Call:
    """Implements application.sessions.ports.Attachment."""

    def __init__(
        self,
        call: grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse],
        asked: asyncio.Queue[pb.AttachRequest | None],
    ) -> None:
        self._call = call
        self._asked = asked

    async def say(self, events: Sequence[tuple[int, Said]]) -> None:
        """A batch."""
        batch = pb.EventBatch(events=[event_of(sequence, said) for sequence, said in events])
        await self._asked.put(pb.AttachRequest(batch=batch))

    async def took(self, sequence: int) -> None:
        """An acknowledgement."""
        await self._asked.put(pb.AttachRequest(command_ack=pb.CommandAck(sequence=sequence)))

    async def alive(self, turn: str, usage: Usage) -> None:
        """`ready`."""
        counted = pb.Usage(input_tokens=usage.read, output_tokens=usage.written) if turn else None
        await self._asked.put(pb.AttachRequest(adapter=pb.AdapterState(state="ready", turn_id=turn, usage=counted)))

    async def gone(self, code: str) -> None:
        """`exited`."""
        await self._asked.put(pb.AttachRequest(adapter=pb.AdapterState(state="exited", code=code)))

    async def keep(self, turn: str, state: bytes) -> None:
        """In pieces."""
        digest = hashlib.sha256(state).hexdigest()
        for offset in range(0, max(len(state), 1), CHUNK_BYTES):
            chunk = pb.AgentStateChunk(
                turn_id=turn,
                digest=digest,
                offset=offset,
                data=state[offset : offset + CHUNK_BYTES],
                last=offset + CHUNK_BYTES >= len(state),
            )
            await self._asked.put(pb.AttachRequest(agent_state=chunk))

    async def answers(self) -> AsyncIterator[Answer]:
        """Until the owner ends the call."""
        try:
            async for response in self._call:
                yield answer_of(response)
        except grpc.aio.AioRpcError as error:
            raise refusal_of(error) from None
