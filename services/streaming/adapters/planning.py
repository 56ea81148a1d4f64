"""Planning over its stub: by tokens of this service, one a tenant; what is lost on the way is asked again in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc

from services.kernel.errors import DeadlineExceeded, NotAllowed, Unavailable
from services.kernel.grpc_errors import refusal_from
from services.kernel.service_tokens import ServiceTokens
from services.kernel.telemetry import get_logger
from services.streaming.application.plan_ports import Behind
from services.streaming.application.ports import SessionKey
from services.streaming.domain.errors import planning_unavailable, session_deleted, session_forking
from treadle.planning.v1 import workspace_service_pb2 as pb
from treadle.planning.v1.workspace_service_pb2_grpc import WorkspaceServiceStub

_SECONDS: Final = 2.0
_PAUSE: Final = 0.05
_log = get_logger("streaming.planning")


class PlanningClient:
    """Fills `Plans`; no call takes longer than `seconds`."""

    def __init__(self, channel: grpc.aio.Channel, tokens: ServiceTokens, seconds: float = _SECONDS) -> None:
        self._stub = WorkspaceServiceStub(channel)
        self._tokens = tokens
        self._seconds = seconds

    async def ensure(self, key: SessionKey) -> None:
        """By the session's id."""
        request = pb.EnsureWorkspaceRequest(session_id=key.session)
        await self._insist(key, self._seconds / 2, lambda **how: self._stub.EnsureWorkspace(request, **how))

    async def begin(self, key: SessionKey, number: int, turn_id: str, by: str) -> None:
        """By number and id, which a repeat has too."""
        request = pb.BeginTurnRequest(session_id=key.session, number=number, turn_id=turn_id, actor=by)
        await self._insist(key, self._seconds, lambda **how: self._stub.BeginTurn(request, **how))

    async def _insist(self, key: SessionKey, seconds: float, call: Callable[..., Awaitable[Any]]) -> None:
        """Unavailable is asked again until the time is over; so are lost races."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        metadata = self._tokens.metadata(key.tenant)
        while True:
            try:
                await call(timeout=max(until - loop.time(), 0.001), metadata=metadata, wait_for_ready=True)
                return
            except grpc.aio.AioRpcError as error:
                again = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED)
                if not again or loop.time() + _PAUSE >= until:
                    raise self._refusal(error) from None
            await asyncio.sleep(_PAUSE)

    def _refusal(self, error: grpc.aio.AioRpcError) -> NotAllowed | Unavailable:
        refusal = refusal_from(error)
        match refusal:
            case NotAllowed(reason="TURN_STALE"):
                last = refusal.metadata.get("last", "")
                return Behind(int(last) if last.isdecimal() else 0)
            case NotAllowed(reason="BRANCH_FORKING"):
                return session_forking()
            case NotAllowed(reason="SESSION_DELETED"):
                return session_deleted()
            case None | Unavailable() | DeadlineExceeded():
                pass
            case _:
                _log.error("planning.refuses", reason=refusal.reason, refusal=refusal.message)
        return planning_unavailable()
