"""RunnerService: one bidirectional stream a runner and session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc

from services.kernel.errors import Invalid, Unavailable
from services.streaming.application.attaching import Attaching
from services.streaming.application.attachment import Attachment
from services.streaming.application.ports import SessionKey
from services.streaming.domain.errors import invalid_event
from services.streaming.transport import names, translate
from services.streaming.transport.access import RUNNERS, caller
from treadle.streaming.v1 import runner_service_pb2 as pb
from treadle.streaming.v1.runner_service_pb2_grpc import RunnerServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_BATCH_MOST = 64
_RUNNER_ID_MOST = 128


class RunnerServicer(RunnerServiceServicer):
    """Reads batches in, writes acknowledgements out."""

    def __init__(self, attaching: Attaching) -> None:
        self._attaching = attaching

    async def Attach(
        self, request_iterator: AsyncIterator[pb.AttachRequest], context: _Context
    ) -> AsyncIterator[pb.AttachResponse]:
        """Holds a session until either side ends; a broken stream loses nothing."""
        runner = caller(RUNNERS)
        opening = await _opening(request_iterator)
        key = SessionKey(runner.tenant, names.session_id(opening.session, "session"))
        async with self._attaching.attach(key, opening.epoch) as attachment:
            yield _answer(attachment, attachment.acked)
            duties = {
                asyncio.create_task(attachment.write(), name="attach.write"),
                asyncio.create_task(_read(request_iterator, attachment), name="attach.read"),
            }
            acked: asyncio.Task[int] = asyncio.create_task(attachment.progress())
            try:
                while True:
                    done, _ = await asyncio.wait({acked, *duties}, return_when=asyncio.FIRST_COMPLETED)
                    if acked in done:
                        yield _answer(attachment, acked.result())
                        acked = asyncio.create_task(attachment.progress())
                    finished = done & duties
                    if finished:
                        for task in finished:
                            task.result()
                        break  # the runner has said all, and all of it is stored
                if attachment.acked > attachment.told:
                    yield _answer(attachment, attachment.acked)
            finally:
                for task in (*duties, acked):
                    task.cancel()
                for task in (*duties, acked):
                    with suppress(BaseException):
                        await task
        if self._attaching.closing:
            raise Unavailable("STREAM_DRAINING", "this server is stopping: attach again with the last epoch")


async def _opening(requests: AsyncIterator[pb.AttachRequest]) -> pb.AttachOpen:
    first = await anext(aiter(requests), None)
    if first is None or first.WhichOneof("message") != "open":
        raise Invalid("INVALID_ARGUMENT", "the first message must be open", field="open")
    opening = first.open
    if not 0 < len(opening.runner_id) <= _RUNNER_ID_MOST:
        raise Invalid("INVALID_ARGUMENT", f"runner_id must be 1..{_RUNNER_ID_MOST} characters", field="runner_id")
    if opening.epoch < 0:
        raise Invalid("INVALID_ARGUMENT", "epoch must not be negative", field="epoch")
    return opening


async def _read(requests: AsyncIterator[pb.AttachRequest], attachment: Attachment) -> None:
    async for request in requests:
        events = request.batch.events
        if not 0 < len(events) <= _BATCH_MOST:
            raise invalid_event(f"a batch has 1..{_BATCH_MOST} events", "batch.events")
        await attachment.offer(list(map(translate.agent_event, events)))
    await attachment.settled()


def _answer(attachment: Attachment, acked: int) -> pb.AttachResponse:
    return pb.AttachResponse(epoch=attachment.epoch, generation=attachment.generation, acked_sequence=acked)
