"""RunnerService: one bidirectional stream a runner and session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc

from services.kernel.access import caller
from services.kernel.errors import Conflict, Invalid, NotFound, Unavailable
from services.streaming.application.agent_ports import Agents, Bells, Hold
from services.streaming.application.agent_states import CHUNK_MOST, Upload
from services.streaming.application.agents import AgentSide
from services.streaming.application.attaching import Attaching
from services.streaming.application.attachment import Attachment
from services.streaming.application.commanding import deliver
from services.streaming.domain.errors import attach_again, invalid_event, lease_lost
from services.streaming.transport import agent_messages, names, translate
from services.streaming.transport.access import RUNNERS
from treadle.streaming.v1 import runner_service_pb2 as pb
from treadle.streaming.v1.runner_service_pb2_grpc import RunnerServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_BATCH_MOST = 64
_RUNNER_ID_MOST = 128
_PASSING = ("ATTACH_FENCED", "CONTENDED")


class RunnerServicer(RunnerServiceServicer):
    """Reads batches in, writes acknowledgements and commands out."""

    def __init__(self, attaching: Attaching, agents: AgentSide, rows: Agents, bells: Bells) -> None:
        self._attaching = attaching
        self._agents = agents
        self._rows = rows
        self._bells = bells

    async def Attach(
        self, request_iterator: AsyncIterator[pb.AttachRequest], context: _Context
    ) -> AsyncIterator[pb.AttachResponse]:
        """Holds a session until either side ends; a broken stream loses nothing."""
        caller(*RUNNERS)
        opening = await _opening(request_iterator)
        try:
            async for answer in self._attached(opening, request_iterator):
                yield answer
        except Conflict as conflict:
            if conflict.reason in _PASSING:
                # Fenced by a new generation, or kept waiting for a lock: who holds the job still holds the session.
                await self._agents.hold(opening.job_id, opening.fence)
                raise attach_again() from conflict
            raise

    async def _attached(
        self, opening: pb.AttachOpen, request_iterator: AsyncIterator[pb.AttachRequest]
    ) -> AsyncIterator[pb.AttachResponse]:
        session_id = names.session_id(opening.session, "session")
        # Runners serve every tenant: the job says whose session it is.
        hold = await self._agents.hold(opening.job_id, opening.fence)
        if hold.key.session != session_id:
            raise lease_lost(opening.job_id)
        taken = opening.command_sequence
        async with self._attaching.attach(hold, opening.epoch, taken) as attachment:
            yield _answer(attachment, attachment.acked)
            duties = {
                asyncio.create_task(attachment.write(), name="attach.write"),
                asyncio.create_task(self._read(request_iterator, attachment, hold), name="attach.read"),
                asyncio.create_task(deliver(self._rows, self._bells, hold, attachment, taken), name="attach.deliver"),
            }
            news = asyncio.create_task(attachment.progress())
            try:
                while True:
                    done, _ = await asyncio.wait({news, *duties}, return_when=asyncio.FIRST_COMPLETED)
                    if news in done:
                        acked, told = news.result()
                        yield agent_messages.answer(_answer(attachment, acked), told)
                        news = asyncio.create_task(attachment.progress())
                    finished = done & duties
                    if finished:
                        for task in finished:
                            task.result()
                        break  # the runner has said all, and all of it is stored
                if attachment.acked > attachment.told:
                    yield _answer(attachment, attachment.acked)
            finally:
                for task in (*duties, news):
                    task.cancel()
                for task in (*duties, news):
                    with suppress(BaseException):
                        await task
        if self._attaching.closing:
            raise Unavailable("STREAM_DRAINING", "this server is stopping: attach again with the last epoch")

    async def ReadAgentState(
        self, request: pb.ReadAgentStateRequest, context: _Context
    ) -> AsyncIterator[pb.AgentStateChunk]:
        """In pieces."""
        caller(*RUNNERS)
        hold = await self._agents.hold(request.job_id, request.fence)
        data = await self._rows.state(hold.key, request.digest)
        if data is None:
            raise NotFound("AGENT_STATE_NOT_FOUND", "there is no such state of this session's agent")
        for offset in range(0, max(len(data), 1), CHUNK_MOST):
            part = data[offset : offset + CHUNK_MOST]
            last = offset + CHUNK_MOST >= len(data)
            yield pb.AgentStateChunk(digest=request.digest, offset=offset, data=part, last=last)

    async def _read(self, requests: AsyncIterator[pb.AttachRequest], attachment: Attachment, hold: Hold) -> None:
        upload = Upload(self._rows, hold.key)
        async for request in requests:
            match request.WhichOneof("message"):
                case "batch":
                    events = request.batch.events
                    if not 0 < len(events) <= _BATCH_MOST:
                        raise invalid_event(f"a batch has 1..{_BATCH_MOST} events", "batch.events")
                    await attachment.offer(list(map(translate.agent_event, events)))
                case "command_ack":
                    await self._rows.taken(hold.key, request.command_ack.sequence)
                case "agent_state":
                    outcome = await upload.take(agent_messages.piece(request.agent_state))
                    if outcome is not None:
                        attachment.tell([outcome])
                case "adapter":
                    if request.adapter.state == "exited":
                        await attachment.settled()
                        code = request.adapter.code
                        await self._agents.ended(hold.job_id, hold.fence, code, "", orderly=not code)
                        return
                    if request.adapter.turn_id and request.adapter.HasField("usage"):
                        usage = agent_messages.usage(request.adapter.usage)
                        await self._agents.spent(hold, request.adapter.turn_id, usage)
                case _:
                    raise invalid_event("this message is not known here", "message")
        await attachment.settled()


async def _opening(requests: AsyncIterator[pb.AttachRequest]) -> pb.AttachOpen:
    first = await anext(aiter(requests), None)
    if first is None or first.WhichOneof("message") != "open":
        raise Invalid("INVALID_ARGUMENT", "the first message must be open", field="open")
    opening = first.open
    if not 0 < len(opening.runner_id) <= _RUNNER_ID_MOST:
        raise Invalid("INVALID_ARGUMENT", f"runner_id must be 1..{_RUNNER_ID_MOST} characters", field="runner_id")
    if not opening.job_id:
        raise Invalid("INVALID_ARGUMENT", "job_id must be the job by which the session is held", field="job_id")
    for field in ("epoch", "fence", "command_sequence"):
        if getattr(opening, field) < 0:
            raise Invalid("INVALID_ARGUMENT", f"{field} must not be negative", field=field)
    return opening


def _answer(attachment: Attachment, acked: int) -> pb.AttachResponse:
    return pb.AttachResponse(epoch=attachment.epoch, generation=attachment.generation, acked_sequence=acked)
