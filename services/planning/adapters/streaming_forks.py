"""Streaming over gRPC, for the sagas of branches: ForkService, with a token of this service for the branch's tenant."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final

import grpc

from services.kernel.errors import NotAllowed, Unavailable
from services.kernel.grpc_errors import refusal_from
from services.kernel.service_tokens import ServiceTokens
from services.planning.domain.branch import Branch
from treadle.streaming.v1 import fork_service_pb2 as pb
from treadle.streaming.v1.fork_service_pb2_grpc import ForkServiceStub

_DEADLINE: Final = 8.0
"""Seconds a call; less than the lease of who drives the branch."""


class StreamingForks:
    """Fills `Conversations`."""

    def __init__(self, channel: grpc.aio.Channel, tokens: ServiceTokens) -> None:
        self._stub: Any = ForkServiceStub(channel)
        self._tokens = tokens

    async def fork(self, branch: Branch) -> None:
        """ForkSession."""
        request = pb.ForkSessionRequest(
            name=f"sessions/{branch.origin_id}",
            turn=branch.turn,
            session_id=branch.session_id,
            title=branch.title,
            actor=branch.asked_by,
        )
        await self._call(self._stub.ForkSession, request, branch)

    async def open(self, branch: Branch) -> None:
        """FinishFork."""
        await self._call(self._stub.FinishFork, pb.FinishForkRequest(name=f"sessions/{branch.session_id}"), branch)

    async def abandon(self, branch: Branch) -> None:
        """AbandonFork. One that was finished is no branch any more: it goes as any session goes."""
        try:
            request = pb.AbandonForkRequest(name=f"sessions/{branch.session_id}")
            await self._call(self._stub.AbandonFork, request, branch)
        except NotAllowed as refusal:
            if refusal.reason != "NOT_FORKING":
                raise

    async def _call(self, method: Any, request: Any, branch: Branch) -> None:
        call: Awaitable[Any] = method(request, timeout=_DEADLINE, metadata=self._tokens.metadata(branch.tenant))
        try:
            await call
        except grpc.aio.AioRpcError as error:
            refusal = refusal_from(error)
            raise refusal or Unavailable("STREAMING_UNAVAILABLE", "streaming cannot be asked right now") from error
