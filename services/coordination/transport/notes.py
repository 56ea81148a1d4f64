"""CoordinationService: scratch notes."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.coordination.application.noting import Noting
from services.coordination.domain import limits
from services.coordination.transport import names, translate
from services.coordination.transport.access import AUTHORS, READERS, caller_for
from services.coordination.transport.calling import command
from services.kernel.paging import PageTokens, page_size
from treadle.coordination.v1 import coordination_service_pb2 as pb
from treadle.coordination.v1.coordination_service_pb2_grpc import CoordinationServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_PAGE: Final = limits.NOTES_KEPT


class NoteMethods(CoordinationServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(self, noting: Noting, tokens: PageTokens) -> None:
        self._noting = noting
        self._note_tokens = tokens

    async def AddNote(self, request: pb.AddNoteRequest, context: _Context) -> pb.AddNoteResponse:
        """On a worker's thread, or on the coordinator's own list."""
        asked = command(request, AUTHORS, names.session_id(request.parent))
        noted = await self._noting.add(asked, _thread(request.thread_name), request.note)
        answer = pb.AddNoteResponse(ok=True, note_count=noted.count, note=translate.note(noted.note))
        if noted.evicted is not None:
            answer.evicted_note.CopyFrom(translate.note(noted.evicted))
        return answer

    async def ListNotes(self, request: pb.ListNotesRequest, context: _Context) -> pb.ListNotesResponse:
        """A page, oldest first."""
        session_id = names.session_id(request.parent)
        reader = caller_for(READERS, session_id)
        name = _thread(request.thread_name)
        size = page_size(request.page_size, default=_PAGE, most=_PAGE)
        query = [reader.tenant, session_id, name]
        position = self._note_tokens.decode(request.page_token, query)
        after = 0 if position is None else int(position["sequence"])
        notes = await self._noting.page(reader, session_id, name, after, size + 1)
        answer = pb.ListNotesResponse(notes=[translate.note(one) for one in notes[:size]])
        if len(notes) > size:
            answer.next_page_token = self._note_tokens.encode({"sequence": notes[size - 1].sequence}, query)
        return answer


def _thread(name: str) -> str:
    return limits.worker_name(name, "thread_name") if name else ""
