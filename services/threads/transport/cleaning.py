"""Cleaning up the source of a thread, and what to do when that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from services.kernel.access import caller
from services.threads.application.catalogue import Catalogue
from services.threads.application.commands import Commands, Make
from services.threads.domain import commands as c
from services.threads.domain.canonical import JsonObject
from services.threads.domain.cleaning import required_cleanup
from services.threads.domain.thread import Thread
from services.threads.transport import reading
from services.threads.transport.answers import DecisionAnswer
from services.threads.transport.calling import call
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_DECISION = DecisionAnswer()


class CleanupDecisions(ThreadServiceServicer):
    """CleanUpThread, RetryCleanup, AcceptCleanupFailure."""

    _commands: Commands

    async def CleanUpThread(self, request: pb.CleanUpThreadRequest, context: _Context) -> pb.Decision:
        """A runner takes the source away."""
        return await self._clean("CleanUpThread", request, _with_task(c.RequestCleanup), reach=0)

    async def RetryCleanup(self, request: pb.RetryCleanupRequest, context: _Context) -> pb.Decision:
        """Once more."""
        return await self._clean("RetryCleanup", request, _with_task(c.RetryCleanup), reach=0)

    async def AcceptCleanupFailure(self, request: pb.AcceptCleanupFailureRequest, context: _Context) -> pb.Decision:
        """The source stays; the thread is done."""

        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            return c.AcceptCleanupFailure()

        return await self._clean("AcceptCleanupFailure", request, make, reach=1)

    async def _clean(self, method: str, request: Any, make: Make, *, reach: int) -> pb.Decision:
        asked = call(caller("reviewer"), method, request, request_id=request.request_id, etag=request.etag)
        return await self._commands.change(asked, reading.thread_id(request.name), make, _DECISION, reach=reach)


def _with_task(command: Callable[[JsonObject], c.Command]) -> Make:
    async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
        return command(required_cleanup(await catalogue.whole(thread)))

    return make
