"""A coordinator's conversation, asked of the streaming service by the caller's own authorization."""

from __future__ import annotations

from typing import Final

import grpc

from services.coordination.application.ports import LiveTurn
from services.coordination.domain.errors import streaming_unavailable
from services.kernel.errors import Refusal, Unavailable
from services.kernel.grpc_errors import refusal_from
from services.kernel.telemetry import get_logger
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub

_WITHIN: Final = 5.0
"""Seconds that a spawn waits for the answer."""
_NONE: Final = (
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
)
"""No such session (or a name that no session has), no turn, or none yet."""
_REFUSED: Final = (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED)
_log = get_logger("coordination.conversations")


class StreamingConversations:
    """Fills `Conversations`."""

    def __init__(self, channel: grpc.aio.Channel, seconds: float = _WITHIN) -> None:
        self._sessions = SessionServiceStub(channel)
        self._seconds = seconds

    async def live_turn(self, session_id: str) -> LiveTurn | None:
        """The newest turn, where it is live."""
        try:
            turn = await self._sessions.GetTurn(pb.GetTurnRequest(name=f"sessions/{session_id}"), timeout=self._seconds)
        except grpc.aio.AioRpcError as error:
            if error.code() in _NONE:
                return None
            raise _refusal(error) from None
        if not turn.live:
            return None
        session = turn.session
        return LiveTurn(turn.id, session.adapter, session.provider, session.model, session.thinking)


def _refusal(error: grpc.aio.AioRpcError) -> Refusal:
    """What the caller may not is said; anything else is that streaming cannot be asked."""
    if error.code() in _REFUSED:
        return refusal_from(error) or streaming_unavailable()
    refusal: Unavailable = streaming_unavailable()
    _log.warning("streaming.not_asked", code=error.code().name, details=error.details())
    return refusal
