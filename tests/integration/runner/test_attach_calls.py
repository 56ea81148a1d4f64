"""The runner's call to a session's owner: whoever ends it, nothing of it is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from services.kernel.errors import Refusal
from services.runner.adapters.streaming_sessions import StreamingSessions
from services.runner.application.ports import Kind, LeasedJob
from services.runner.application.sessions.ports import Opening
from services.runner.domain.agent import Usage
from treadle.streaming.v1 import runner_service_pb2 as pb
from treadle.streaming.v1.runner_service_pb2_grpc import RunnerServiceServicer, add_RunnerServiceServicer_to_server

JOB = LeasedJob("job_1", Kind.SESSION, "default", "sessions/ses_1", b"{}", 1, 1)


class Owner(RunnerServiceServicer):
    """Takes the first request, answers once, and ends the call as it is told."""

    def __init__(self, ends: str) -> None:
        self._ends = ends

    async def Attach(self, requests: Any, context: Any) -> AsyncIterator[pb.AttachResponse]:
        await anext(requests)
        yield pb.AttachResponse(epoch=1)
        if self._ends == "refused":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "going")
        if self._ends == "by us":
            await asyncio.Event().wait()


@pytest.mark.parametrize("ends", ["ended", "refused", "by us"])
async def test_a_call_that_is_over_leaves_no_task_behind(ends: str) -> None:
    server = grpc.aio.server()
    add_RunnerServiceServicer_to_server(Owner(ends), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        before = _ours()
        for _ in range(3):
            async with StreamingSessions(channel, "r1").attach(Opening(JOB, 0, 0)) as attachment:
                answers = attachment.answers()
                assert (await anext(answers)).epoch == 1
                if ends == "ended":
                    assert await anext(answers, None) is None
                elif ends == "refused":
                    with pytest.raises(Refusal):
                        await anext(answers)
                await attachment.alive("", Usage())
        async with asyncio.timeout(60):
            while _ours() > before:
                await asyncio.sleep(0.01)
    await server.stop(None)


def _ours() -> int:
    """Tasks that feed requests to calls."""
    return sum("_consume_request_iterator" in repr(task) for task in asyncio.all_tasks())
