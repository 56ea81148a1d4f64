"""SessionService."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import grpc

from services.kernel.idempotency import body_digest
from services.kernel.paging import PageTokens, page_size
from services.streaming.application.sessions import Sessions
from services.streaming.transport import names, translate
from services.streaming.transport.access import AUTHORS, READERS, caller
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceServicer

_PAGE, _PAGE_MOST = 50, 200
_Context = grpc.aio.ServicerContext[Any, Any]


class SessionServicer(SessionServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(self, sessions: Sessions, tokens: PageTokens) -> None:
        self._sessions = sessions
        self._tokens = tokens

    async def CreateSession(self, request: pb.CreateSessionRequest, context: _Context) -> pb.Session:
        """Opens a session."""
        body = pb.CreateSessionRequest()
        body.CopyFrom(request)
        body.request_id = ""
        session = await self._sessions.create(
            caller(AUTHORS),
            adapter=request.adapter,
            provider=request.provider,
            model=request.model,
            thinking=request.thinking,
            title=request.title,
            request_id=request.request_id,
            digest=body_digest(body.SerializeToString(deterministic=True)),
        )
        return translate.session(session)

    async def GetSession(self, request: pb.GetSessionRequest, context: _Context) -> pb.Session:
        """One session."""
        session = await self._sessions.get(caller(READERS), names.session_id(request.name))
        return translate.session(session)

    async def ListSessions(self, request: pb.ListSessionsRequest, context: _Context) -> pb.ListSessionsResponse:
        """A page."""
        reader = caller(READERS)
        size = page_size(request.page_size, default=_PAGE, most=_PAGE_MOST)
        position = self._tokens.decode(request.page_token, [reader.tenant])
        after = None if position is None else (str(position["time"]), str(position["id"]))
        page = await self._sessions.page(reader, after, size)
        answer = pb.ListSessionsResponse(sessions=[translate.session(one) for one in page.sessions])
        if page.more:
            last = page.sessions[-1]
            # The whole timestamp, to the microsecond: a shortened one skips or repeats rows (PUB24).
            place = {"time": last.created_at.astimezone(UTC).isoformat(), "id": last.id}
            answer.next_page_token = self._tokens.encode(place, [reader.tenant])
        return answer
