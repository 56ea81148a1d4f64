"""SessionService: what a person does to a session's turn and agent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, Protocol, TypeVar

import grpc

from services.kernel.clock import Clock
from services.kernel.idempotency import body_digest
from services.kernel.principal import Authenticator, Principal
from services.streaming.application.resuming import Resuming
from services.streaming.application.sessions import Sessions
from services.streaming.application.turning import Turning
from services.streaming.domain.session import Session
from services.streaming.transport import names, translate
from services.streaming.transport.access import AUTHORS, PEOPLE, caller
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
TOKEN_LIFETIME: Final = timedelta(hours=12)


class _Request(Protocol):
    request_id: str

    def CopyFrom(self, other: Any) -> None: ...

    def SerializeToString(self, *, deterministic: bool = ...) -> bytes: ...


_R = TypeVar("_R", bound=_Request)


class TurnMethods(SessionServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(
        self, sessions: Sessions, turning: Turning, resuming: Resuming, authenticator: Authenticator, clock: Clock
    ) -> None:
        self._sessions = sessions
        self._turning = turning
        self._resuming = resuming
        self._authenticator = authenticator
        self._clock = clock

    async def PromptSession(self, request: pb.PromptSessionRequest, context: _Context) -> pb.PromptSessionResponse:
        """Begins a turn."""
        session, turn_id = await self._turning.prompt(
            caller(AUTHORS), names.session_id(request.name), request.text, request.request_id, digest_of(request)
        )
        return pb.PromptSessionResponse(session=translate.session(session), turn_id=turn_id)

    async def SteerSession(self, request: pb.SteerSessionRequest, context: _Context) -> pb.Session:
        """Tells a working agent."""
        session = await self._turning.steer(
            caller(AUTHORS), names.session_id(request.name), request.text, request.request_id, digest_of(request)
        )
        return translate.session(session)

    async def AbortSession(self, request: pb.AbortSessionRequest, context: _Context) -> pb.Session:
        """Stops the turn."""
        session = await self._turning.abort(
            caller(AUTHORS), names.session_id(request.name), request.request_id, digest_of(request)
        )
        return translate.session(session)

    async def ResumeSession(self, request: pb.ResumeSessionRequest, context: _Context) -> pb.ResumeSessionResponse:
        """Starts the agent again."""
        session, preserved = await self._resuming.resume(
            caller(AUTHORS), names.session_id(request.name), request.request_id, digest_of(request)
        )
        return pb.ResumeSessionResponse(session=translate.session(session), preserved=preserved)

    async def BatchDeleteSessions(
        self, request: pb.BatchDeleteSessionsRequest, context: _Context
    ) -> pb.BatchDeleteSessionsResponse:
        """Each for itself."""
        results = await self._resuming.delete(caller(PEOPLE), list(request.ids), request.request_id, digest_of(request))
        answer = pb.BatchDeleteSessionsResponse()
        for one in results:
            answer.results.add(id=one.id, ok=one.ok, code=one.code)
        return answer

    async def MintAgentToken(self, request: pb.MintAgentTokenRequest, context: _Context) -> pb.MintAgentTokenResponse:
        """For an outside agent."""
        session = await self._sessions.get(caller(PEOPLE), names.session_id(request.name))
        answer = pb.MintAgentTokenResponse(token=agent_token(self._authenticator, session))
        answer.expire_time.FromDatetime(self._clock.now() + TOKEN_LIFETIME)
        return answer


def agent_token(authenticator: Authenticator, session: Session) -> str:
    """A token that speaks for this session's agent."""
    agent = Principal(session.tenant, session.id, "agent", frozenset({"agent"}))
    return authenticator.mint(agent, TOKEN_LIFETIME)


def digest_of(request: _R) -> bytes:
    """Digest of the request without its idempotency key."""
    body = type(request)()
    body.CopyFrom(request)
    body.request_id = ""
    return body_digest(body.SerializeToString(deterministic=True))
