"""Planning in memory with the rules of design/planning.md P.1, as far as streaming can tell, behind a real gRPC server.

`hold` keeps BeginTurn waiting, with what it was asked kept by then or not; `refuse` answers with a refusal.
"""

from __future__ import annotations

import asyncio
from typing import Any

from services.kernel.clock import SystemClock
from services.kernel.errors import NotAllowed, Refusal
from services.kernel.grpc_server import GrpcServer
from services.kernel.principal import Authenticator, Principal
from services.kernel.request import current_principal
from treadle.planning.v1 import workspace_service_pb2 as pb
from treadle.planning.v1.workspace_service_pb2_grpc import (
    WorkspaceServiceServicer,
    add_WorkspaceServiceServicer_to_server,
)


class FakePlanning(WorkspaceServiceServicer):
    """`turns`: by session, number and id; `callers`: who asked."""

    def __init__(self) -> None:
        self.workspaces: set[str] = set()
        self.turns: dict[str, dict[int, str]] = {}
        self.actors: list[str] = []
        self.callers: set[Principal] = set()
        self.asked = 0
        self.refuse: Refusal | None = None
        self.keeps_before = True
        self.free = asyncio.Event()
        self.free.set()
        self.held = asyncio.Event()
        self.address = "127.0.0.1:0"
        self._server: GrpcServer | None = None

    async def EnsureWorkspace(self, request: pb.EnsureWorkspaceRequest, context: Any) -> pb.EnsureWorkspaceResponse:
        self.callers.add(current_principal())
        created = request.session_id not in self.workspaces
        self.workspaces.add(request.session_id)
        return pb.EnsureWorkspaceResponse(created=created)

    async def BeginTurn(self, request: pb.BeginTurnRequest, context: Any) -> pb.BeginTurnResponse:
        self.callers.add(current_principal())
        self.asked += 1
        if self.refuse is not None:
            raise self.refuse
        answer = self._begin(request) if self.keeps_before else None
        if not self.free.is_set():
            self.held.set()
            await self.free.wait()
        return answer or self._begin(request)

    def _begin(self, request: pb.BeginTurnRequest) -> pb.BeginTurnResponse:
        turns = self.turns.setdefault(request.session_id, {})
        replayed = turns.get(request.number) == request.turn_id
        last = max(turns, default=0)
        if not replayed and (request.number <= last or request.turn_id in turns.values()):
            raise NotAllowed("TURN_STALE", "a later turn began before", last=last)
        turns[request.number] = request.turn_id
        self.actors.append(request.actor)
        return pb.BeginTurnResponse(number=request.number, replayed=replayed)

    def hold(self, *, keeps_before: bool) -> None:
        """BeginTurn waits from now on, with what it is asked kept already, or not."""
        self.keeps_before = keeps_before
        self.held.clear()
        self.free.clear()

    async def start(self, secret: str | None = None) -> None:
        """Serves, at the same address as before."""
        servicers: Any = [
            (add_WorkspaceServiceServicer_to_server, self, "treadle.planning.v1.WorkspaceService"),
        ]
        self._server = GrpcServer("planning", self.address, servicers, Authenticator(secret, SystemClock()))
        self.address = await self._server.start()

    async def stop(self) -> None:
        """At once."""
        if self._server is not None:
            await self._server.stop(0)
            self._server = None
