"""SessionService: what a person does to a session's turn and agent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, Protocol, TypeVar

import grpc

from services.kernel.access import caller
from services.kernel.clock import Clock
from services.kernel.idempotency import body_digest
from services.kernel.principal import Authenticator, Principal
from services.streaming.application.agents import AgentSide
from services.streaming.application.driving import Driving
from services.streaming.application.ports import SessionKey
from services.streaming.application.records import Records
from services.streaming.application.resuming import Resuming
from services.streaming.application.sessions import Sessions
from services.streaming.application.turning import Turning
from services.streaming.transport import names, translate
from services.streaming.transport.access import AUTHORS, PEOPLE, READERS, acting, check_own
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
        self,
        sessions: Sessions,
        turning: Turning,
        driving: Driving,
        resuming: Resuming,
        records: Records,
        agents: AgentSide,
        authenticator: Authenticator,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._turning = turning
        self._driving = driving
        self._records = records
        self._agents = agents
        self._resuming = resuming
        self._authenticator = authenticator
        self._clock = clock

    async def PromptSession(self, request: pb.PromptSessionRequest, context: _Context) -> pb.PromptSessionResponse:
        """Begins a turn."""
        session, turn_id = await self._turning.prompt(
            *acting(AUTHORS, request.name), request.text, request.request_id, digest_of(request)
        )
        return pb.PromptSessionResponse(session=translate.session(session), turn_id=turn_id)

    async def SteerSession(self, request: pb.SteerSessionRequest, context: _Context) -> pb.Session:
        """Tells a working agent."""
        session = await self._turning.steer(
            *acting(AUTHORS, request.name), request.text, request.request_id, digest_of(request)
        )
        return translate.session(session)

    async def AbortSession(self, request: pb.AbortSessionRequest, context: _Context) -> pb.Session:
        """Stops the turn."""
        session = await self._turning.abort(*acting(AUTHORS, request.name), request.request_id, digest_of(request))
        return translate.session(session)

    async def ResumeSession(self, request: pb.ResumeSessionRequest, context: _Context) -> pb.ResumeSessionResponse:
        """Starts the agent again."""
        session, preserved = await self._resuming.resume(
            *acting(AUTHORS, request.name), request.request_id, digest_of(request)
        )
        return pb.ResumeSessionResponse(session=translate.session(session), preserved=preserved)

    async def GetTurn(self, request: pb.GetTurnRequest, context: _Context) -> pb.SessionTurn:
        """One turn, or the newest."""
        reader, session_id = acting(READERS, request.name)
        key = SessionKey(reader.tenant, session_id)
        message = translate.turn(*await self._records.turn(key, names.turn_id(request.turn_id)))
        if request.with_text:
            message.text = await self._agents.said_so_far(key, message.id)
        return message

    async def OpenTurn(self, request: pb.OpenTurnRequest, context: _Context) -> pb.OpenTurnResponse:
        """From outside."""
        session, turn_id = await self._driving.open(
            *acting(AUTHORS, request.name), request.text, request.request_id, digest_of(request)
        )
        return pb.OpenTurnResponse(session=translate.session(session), turn_id=turn_id)

    async def CloseTurn(self, request: pb.CloseTurnRequest, context: _Context) -> pb.Session:
        """From outside."""
        session = await self._driving.close(
            *acting(AUTHORS, request.name),
            text=request.text,
            turn_id=request.turn_id,
            outcome=request.outcome,
            request_id=request.request_id,
            digest=digest_of(request),
        )
        return translate.session(session)

    async def BatchDeleteSessions(
        self, request: pb.BatchDeleteSessionsRequest, context: _Context
    ) -> pb.BatchDeleteSessionsResponse:
        """Each for itself."""
        person = caller(*PEOPLE)
        check_own(person, None)
        results = await self._resuming.delete(person, list(request.ids), request.request_id, digest_of(request))
        answer = pb.BatchDeleteSessionsResponse()
        for one in results:
            answer.results.add(id=one.id, ok=one.ok, code=one.code)
        return answer

    async def MintAgentToken(self, request: pb.MintAgentTokenRequest, context: _Context) -> pb.MintAgentTokenResponse:
        """For an outside agent."""
        session = await self._sessions.get(*acting(PEOPLE, request.name))
        answer = pb.MintAgentTokenResponse(token=agent_token(self._authenticator, session.tenant, session.id))
        answer.expire_time.FromDatetime(self._clock.now() + TOKEN_LIFETIME)
        return answer


def agent_token(authenticator: Authenticator, tenant: str, session_id: str) -> str:
    """A token that speaks for this session's agent."""
    agent = Principal(tenant, session_id, "agent", frozenset({"agent"}))
    return authenticator.mint(agent, TOKEN_LIFETIME)


def digest_of(request: _R) -> bytes:
    """Digest of the request without its idempotency key."""
    body = type(request)()
    body.CopyFrom(request)
    body.request_id = ""
    return body_digest(body.SerializeToString(deterministic=True))
