"""SessionService."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import grpc

from services.kernel.access import caller
from services.kernel.clock import Clock
from services.kernel.paging import PageTokens, page_size
from services.kernel.principal import Authenticator
from services.streaming.application.agents import AgentSide
from services.streaming.application.driving import Driving
from services.streaming.application.gating import Gating
from services.streaming.application.records import Records
from services.streaming.application.resuming import Resuming
from services.streaming.application.sessions import Sessions
from services.streaming.application.turning import Turning
from services.streaming.transport import names, translate
from services.streaming.transport.access import AUTHORS, READERS, acting, check_own
from services.streaming.transport.gates import GateMethods
from services.streaming.transport.turning import TurnMethods, digest_of
from treadle.streaming.v1 import session_service_pb2 as pb

_PAGE, _PAGE_MOST = 50, 200
_Context = grpc.aio.ServicerContext[Any, Any]


class SessionServicer(TurnMethods, GateMethods):
    """Thin: translate, call, translate."""

    def __init__(
        self,
        sessions: Sessions,
        turning: Turning,
        driving: Driving,
        resuming: Resuming,
        gating: Gating,
        records: Records,
        agents: AgentSide,
        tokens: PageTokens,
        authenticator: Authenticator,
        clock: Clock,
    ) -> None:
        TurnMethods.__init__(self, sessions, turning, driving, resuming, records, agents, authenticator, clock)
        GateMethods.__init__(self, sessions, gating, records, tokens)

    async def CreateSession(self, request: pb.CreateSessionRequest, context: _Context) -> pb.Session:
        """Opens a session; an agent may open its own."""
        author = caller(*AUTHORS)
        check_own(author, request.session_id)
        session = await self._sessions.create(
            author,
            adapter=request.adapter,
            provider=request.provider,
            model=request.model,
            thinking=request.thinking,
            title=request.title,
            session_id=request.session_id,
            coordinator=names.session_id(request.coordinator, "coordinator") if request.coordinator else "",
            request_id=request.request_id,
            digest=digest_of(request),
        )
        return translate.session(session)

    async def GetSession(self, request: pb.GetSessionRequest, context: _Context) -> pb.Session:
        """One session."""
        session = await self._sessions.get(*acting(READERS, request.name))
        return translate.session(session)

    async def ListSessions(self, request: pb.ListSessionsRequest, context: _Context) -> pb.ListSessionsResponse:
        """A page."""
        reader = caller(*READERS)
        size = page_size(request.page_size, default=_PAGE, most=_PAGE_MOST)
        # Tokens of the list of all sessions are as they were, so that they stay good.
        of = [reader.tenant, "top_level"] if request.top_level else [reader.tenant]
        position = self._tokens.decode(request.page_token, of)
        after = None if position is None else (str(position["time"]), str(position["id"]))
        page = await self._sessions.page(reader, after, size, top_level=request.top_level)
        answer = pb.ListSessionsResponse(sessions=[translate.session(one) for one in page.sessions])
        if page.more:
            last = page.sessions[-1]
            # The whole timestamp, to the microsecond: a shortened one skips or repeats rows (PUB24).
            place = {"time": last.created_at.astimezone(UTC).isoformat(), "id": last.id}
            answer.next_page_token = self._tokens.encode(place, of)
        return answer
