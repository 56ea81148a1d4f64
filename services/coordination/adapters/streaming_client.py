"""Sessions of workers and coordinators over streaming's stubs, as background duties ask: a turn's state, its text,
prompt, abort. By tokens of the service itself, one a tenant; each call has a deadline.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import grpc

from services.coordination.application.run_ports import TurnSeen
from services.coordination.domain.errors import streaming_unavailable
from services.kernel.errors import DeadlineExceeded, Invalid, NotAllowed, NotFound, Unavailable
from services.kernel.grpc_errors import refusal_from
from services.kernel.service_tokens import ServiceTokens
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub

_SECONDS: Final = 2.0
_READING: Final = 5
"""So many times longer may it take to read what a turn has said."""
_A = TypeVar("_A")


class StreamingClient:
    """Implements `WorkerSessions`."""

    def __init__(self, channel: grpc.aio.Channel, tokens: ServiceTokens, seconds: float = _SECONDS) -> None:
        self._stub = SessionServiceStub(channel)
        self._tokens = tokens
        self._seconds = seconds

    async def turn_of(self, tenant: str, session_id: str) -> TurnSeen | None:
        """The newest."""
        turn = await _or_none(
            lambda: self._stub.GetTurn(
                _turn_request(session_id), timeout=self._seconds, metadata=self._tokens.metadata(tenant)
            )
        )
        if turn is None:
            return None
        ended = turn.HasField("end_time") or turn.state in (pb.Session.STATE_IDLE, pb.Session.STATE_FAILED)
        return TurnSeen(
            turn_id=turn.id,
            under_way=not ended,
            waiting=turn.state == pb.Session.STATE_WAITING,
            outcome=turn.outcome,
            code=turn.code,
            said=turn.said,
            attended=turn.session.agent == pb.Session.AGENT_LIVE,
            tokens=turn.tokens,
        )

    async def text_of(self, tenant: str, session_id: str, turn_id: str) -> str:
        """All pages of the agent's messages."""
        texts: list[str] = []
        token = ""
        while True:
            request = pb.ListMessagesRequest(parent=f"sessions/{session_id}", turn_id=turn_id, page_token=token)
            page = await _or_none(
                lambda request=request: self._stub.ListMessages(  # type: ignore[misc]
                    request, timeout=self._seconds, metadata=self._tokens.metadata(tenant)
                )
            )
            if page is None:
                return ""
            texts += [one.text for one in page.messages if one.role == "assistant"]
            token = page.next_page_token
            if not token:
                return "\n\n".join(text for text in texts if text)

    async def said_so_far(self, tenant: str, session_id: str, turn_id: str) -> str:
        """Streaming reads it out of the session's log, which may be long."""
        request = pb.GetTurnRequest(name=f"sessions/{session_id}", turn_id=turn_id, with_text=True)
        turn = await _or_none(
            lambda: self._stub.GetTurn(
                request, timeout=_READING * self._seconds, metadata=self._tokens.metadata(tenant)
            )
        )
        return "" if turn is None else turn.text

    async def prompt(self, tenant: str, session_id: str, text: str, request_id: str) -> None:
        """Once a request_id."""
        request = pb.PromptSessionRequest(name=f"sessions/{session_id}", text=text, request_id=request_id)
        await _told(
            lambda: self._stub.PromptSession(request, timeout=self._seconds, metadata=self._tokens.metadata(tenant))
        )

    async def abort(self, tenant: str, session_id: str) -> None:
        """Nothing under way, or no session: nothing to abort."""
        request = pb.AbortSessionRequest(name=f"sessions/{session_id}")
        try:
            await _told(
                lambda: self._stub.AbortSession(request, timeout=self._seconds, metadata=self._tokens.metadata(tenant))
            )
        except (NotFound, NotAllowed, Invalid):
            return


def _turn_request(session_id: str) -> pb.GetTurnRequest:
    return pb.GetTurnRequest(name=f"sessions/{session_id}")


async def _told(call: Callable[[], Awaitable[_A]]) -> _A:
    """The answer. Unavailable STREAMING_UNAVAILABLE where there is none; other refusals are streaming's own."""
    try:
        return await call()
    except grpc.aio.AioRpcError as error:
        refusal = refusal_from(error)
    if refusal is None or isinstance(refusal, Unavailable | DeadlineExceeded):
        raise streaming_unavailable()
    raise refusal


async def _or_none(call: Callable[[], Awaitable[_A]]) -> _A | None:
    """None: no such session or turn; an id that streaming cannot have is no session of its either."""
    try:
        return await _told(call)
    except (NotFound, Invalid):
        return None
