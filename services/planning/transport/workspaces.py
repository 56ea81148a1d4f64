"""WorkspaceService: for services only."""

from __future__ import annotations

from typing import Any

import grpc

from services.kernel.errors import Invalid
from services.kernel.ids import is_id
from services.planning.application.acting import who
from services.planning.application.turning import Turning
from services.planning.transport.access import service
from treadle.planning.v1 import workspace_service_pb2 as pb
from treadle.planning.v1.workspace_service_pb2_grpc import WorkspaceServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_ACTOR_MOST = 300


class WorkspaceServicer(WorkspaceServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(self, turning: Turning) -> None:
        self._turning = turning

    async def EnsureWorkspace(
        self, request: pb.EnsureWorkspaceRequest, context: _Context
    ) -> pb.EnsureWorkspaceResponse:
        """A workspace for the session."""
        caller = service()
        created = await self._turning.ensure(caller.tenant, _id("ses", request.session_id, "session_id"))
        return pb.EnsureWorkspaceResponse(created=created)

    async def BeginTurn(self, request: pb.BeginTurnRequest, context: _Context) -> pb.BeginTurnResponse:
        """The turn and its snapshot."""
        caller = service()
        if request.number < 1:
            raise Invalid("INVALID_ARGUMENT", "number must be 1 or more", field="number")
        if len(request.actor) > _ACTOR_MOST:
            raise Invalid("INVALID_ARGUMENT", f"actor must be at most {_ACTOR_MOST} characters", field="actor")
        replayed = await self._turning.begin(
            caller.tenant,
            _id("ses", request.session_id, "session_id"),
            request.number,
            _id("trn", request.turn_id, "turn_id"),
            request.actor or who(caller),
        )
        return pb.BeginTurnResponse(number=request.number, replayed=replayed)


def _id(prefix: str, text: str, field: str) -> str:
    if not is_id(prefix, text):
        raise Invalid("INVALID_ARGUMENT", f"{field} must be {prefix}_ and a UUIDv7", field=field)
    return text
