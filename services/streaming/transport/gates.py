"""SessionService: gates, the ledger, messages."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.kernel.errors import Invalid
from services.kernel.paging import PageTokens, page_size
from services.streaming.application.gating import Gating
from services.streaming.application.ports import SessionKey
from services.streaming.application.records import Records
from services.streaming.application.sessions import Sessions
from services.streaming.domain.gates import Answer
from services.streaming.transport import names, translate
from services.streaming.transport.access import PEOPLE, READERS, acting
from services.streaming.transport.turning import digest_of
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_PAGE: Final = 50
_PAGE_MOST: Final = 200
_PAGE_BYTES: Final = 1024 * 1024
_STATES: Final = {number: state for state, number in translate.GATE_STATES.items()}


class GateMethods(SessionServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(self, sessions: Sessions, gating: Gating, records: Records, tokens: PageTokens) -> None:
        self._sessions = sessions
        self._gating = gating
        self._records = records
        self._tokens = tokens

    async def AnswerGate(self, request: pb.AnswerGateRequest, context: _Context) -> pb.SessionGate:
        """Once."""
        session_id, gate_id = names.gate_id(request.name)
        person, _ = acting(PEOPLE, f"sessions/{session_id}")
        for field in ("value", "text"):
            if "\0" in getattr(request, field):
                raise Invalid("INVALID_ANSWER", f"{field} must not contain NUL", field=field)
        answer = Answer(
            request.value if request.HasField("value") else None,
            request.confirmed if request.HasField("confirmed") else None,
            request.cancelled,
            request.text,
        )
        gate = await self._gating.answer(person, session_id, gate_id, answer, request.request_id, digest_of(request))
        return translate.gate(gate, session_id)

    async def ListGates(self, request: pb.ListGatesRequest, context: _Context) -> pb.ListGatesResponse:
        """Newest first."""
        key, size = (
            await self._key(request.parent, "parent"),
            page_size(request.page_size, default=_PAGE, most=_PAGE_MOST),
        )
        query = ["gates", *key, request.state]
        place = self._tokens.decode(request.page_token, query)
        before = "" if place is None else str(place["id"])
        gates, more = await self._records.gates(key, _STATES.get(request.state), before, size)
        answer = pb.ListGatesResponse()
        room = _PAGE_BYTES
        for one in gates:
            shown = translate.gate(one, key.session)
            room -= shown.ByteSize()
            if room < 0 and answer.gates:
                more = True
                break
            answer.gates.append(shown)
        if more:
            answer.next_page_token = self._tokens.encode({"id": answer.gates[-1].id}, query)
        return answer

    async def GetLedger(self, request: pb.GetLedgerRequest, context: _Context) -> pb.GetLedgerResponse:
        """Oldest first, and the set in force."""
        key, size = await self._key(request.name, "name"), page_size(request.page_size, default=_PAGE, most=_PAGE_MOST)
        query = ["ledger", *key]
        entries, newest, more = await self._records.ledger(key, self._after(request.page_token, query), size)
        answer = pb.GetLedgerResponse(current=None if newest is None else translate.entry(newest))
        room = _PAGE_BYTES
        for one in entries:
            shown = translate.entry(one)
            room -= shown.ByteSize()
            if room < 0 and answer.entries:
                more = True
                break
            answer.entries.append(shown)
        if more:
            answer.next_page_token = self._tokens.encode({"n": answer.entries[-1].sequence}, query)
        return answer

    async def ListMessages(self, request: pb.ListMessagesRequest, context: _Context) -> pb.ListMessagesResponse:
        """Oldest first."""
        key = await self._key(request.parent, "parent")
        turn_id = names.turn_id(request.turn_id)
        size, query = page_size(request.page_size, default=_PAGE, most=_PAGE_MOST), ["messages", *key, turn_id]
        messages, more = await self._records.messages(key, turn_id, self._after(request.page_token, query), size)
        answer = pb.ListMessagesResponse()
        room = _PAGE_BYTES
        for one in messages:
            shown = translate.said(one)
            room -= shown.ByteSize()
            if room < 0 and answer.messages:
                more = True
                break
            answer.messages.append(shown)
        if more:
            answer.next_page_token = self._tokens.encode({"n": answer.messages[-1].sequence}, query)
        return answer

    async def _key(self, name: str, field: str) -> SessionKey:
        session = await self._sessions.get(*acting(READERS, name, field))
        return SessionKey(session.tenant, session.id)

    def _after(self, token: str, query: list[Any]) -> int:
        place = self._tokens.decode(token, query)
        return 0 if place is None else int(place["n"])
