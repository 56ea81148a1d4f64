"""PlanningService: documents."""

from __future__ import annotations

from typing import Any

import grpc

from services.kernel.errors import Invalid
from services.planning.application.documents import Documents
from services.planning.application.ports import Reads
from services.planning.transport import names, translate
from services.planning.transport.access import AUTHORS, PEOPLE, READERS, caller_for
from services.planning.transport.calling import command, given
from treadle.planning.v1 import planning_service_pb2 as pb
from treadle.planning.v1.planning_service_pb2_grpc import PlanningServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]


class DocumentMethods(PlanningServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(self, documents: Documents, reads: Reads) -> None:
        self._documents = documents
        self._reads = reads

    async def ListDocuments(self, request: pb.ListDocumentsRequest, context: _Context) -> pb.ListDocumentsResponse:
        """All of them."""
        session = names.session_id(request.parent, "parent")
        if request.page_token:
            raise Invalid("INVALID_PAGE_TOKEN", "there is one page only", field="page_token")
        found = await self._reads.documents(caller_for(READERS, session).tenant, session)
        return pb.ListDocumentsResponse(documents=[translate.document(session, one) for one in found])

    async def GetDocument(self, request: pb.GetDocumentRequest, context: _Context) -> pb.Document:
        """One."""
        session, key = names.document(request.name)
        found = await self._reads.document(caller_for(READERS, session).tenant, session, key)
        return translate.document(session, found)

    async def PutDocument(self, request: pb.PutDocumentRequest, context: _Context) -> pb.Document:
        """Writes it."""
        session, key = names.document(request.name)
        asked = command(request, session, AUTHORS)
        return translate.document(session, await self._documents.put(asked, key, request.content, request.etag))

    async def DeleteDocument(self, request: pb.DeleteDocumentRequest, context: _Context) -> pb.DeleteDocumentResponse:
        """It goes."""
        session, key = names.document(request.name)
        await self._documents.delete(command(request, session, AUTHORS), key, request.etag)
        return pb.DeleteDocumentResponse()

    async def LockDocument(self, request: pb.LockDocumentRequest, context: _Context) -> pb.Document:
        """Locks it."""
        session, key = names.document(request.name)
        asked = command(request, session, PEOPLE)
        locked = given(request, "locked")
        if locked is None:
            raise Invalid("INVALID_ARGUMENT", "locked must be given", field="locked")
        return translate.document(session, await self._documents.lock(asked, key, locked))
