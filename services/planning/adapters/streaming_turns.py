"""Streaming over gRPC, for the ends of turns: GetTurn, with a token of this service for the session's tenant."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.kernel.errors import Unavailable
from services.kernel.grpc_errors import refusal_from
from services.kernel.service_tokens import ServiceTokens
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub

_DEADLINE: Final = 2.0
"""Seconds: a person waits for the answer."""


class StreamingTurns:
    """Fills `Endings`."""

    def __init__(self, channel: grpc.aio.Channel, tokens: ServiceTokens) -> None:
        self._stub: Any = SessionServiceStub(channel)
        self._tokens = tokens

    async def outcome_of(self, tenant: str, session_id: str, turn_id: str) -> str | None:
        """GetTurn of that very turn."""
        request = pb.GetTurnRequest(name=f"sessions/{session_id}", turn_id=turn_id)
        try:
            turn = await self._stub.GetTurn(request, timeout=_DEADLINE, metadata=self._tokens.metadata(tenant))
        except grpc.aio.AioRpcError as error:
            refusal = refusal_from(error)
            raise refusal or Unavailable("STREAMING_UNAVAILABLE", "streaming cannot be asked right now") from error
        if not turn.HasField("end_time"):
            return None
        outcome: str = turn.outcome or turn.code
        return outcome
