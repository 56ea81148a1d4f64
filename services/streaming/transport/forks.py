"""ForkService: for planning alone."""

from __future__ import annotations

import re
from typing import Any, Final

import grpc

from services.kernel.errors import Denied, Invalid
from services.kernel.principal import Principal
from services.kernel.request import current_principal
from services.streaming.application.forking import Forking
from services.streaming.transport import names, translate
from treadle.streaming.v1 import fork_service_pb2 as pb
from treadle.streaming.v1 import session_service_pb2
from treadle.streaming.v1.fork_service_pb2_grpc import ForkServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_ACTOR: Final = re.compile(r"(user|agent|service):[^\x00-\x1f]{1,256}")


class ForkServicer(ForkServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(self, forking: Forking) -> None:
        self._forking = forking

    async def ForkSession(self, request: pb.ForkSessionRequest, context: _Context) -> session_service_pb2.Session:
        """Makes it."""
        service = _service()
        if request.actor and _ACTOR.fullmatch(request.actor) is None:
            raise Invalid("INVALID_ARGUMENT", "actor must be kind:subject", field="actor")
        session = await self._forking.fork(
            service,
            names.session_id(request.name),
            request.turn,
            request.session_id,
            request.title,
            request.actor,
        )
        return translate.session(session)

    async def FinishFork(self, request: pb.FinishForkRequest, context: _Context) -> session_service_pb2.Session:
        """It is done."""
        return translate.session(await self._forking.finish(_service(), names.session_id(request.name)))

    async def AbandonFork(self, request: pb.AbandonForkRequest, context: _Context) -> pb.AbandonForkResponse:
        """It is given up."""
        deleted = await self._forking.abandon(_service(), names.session_id(request.name))
        return pb.AbandonForkResponse(deleted=deleted)


def _service() -> Principal:
    """Another service, or an admin. Denied otherwise."""
    principal = current_principal()
    if not (principal.has("admin") or (principal.kind == "service" and principal.has("reviewer"))):
        raise Denied("ROLE_REQUIRED", "this is for other services: it needs the role admin", role="admin")
    return principal
