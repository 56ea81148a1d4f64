"""Streaming's half of branches in memory, behind real gRPC; it can be made to refuse, to fail, and to be slow."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from services.kernel.clock import SystemClock
from services.kernel.errors import NotAllowed, NotFound, Refusal
from services.kernel.grpc_server import GrpcServer
from services.kernel.principal import Authenticator, Principal
from services.kernel.request import current_principal
from tests.fakes.turn_service import FakeTurns
from treadle.streaming.v1 import fork_service_pb2 as pb
from treadle.streaming.v1 import session_service_pb2
from treadle.streaming.v1.fork_service_pb2_grpc import ForkServiceServicer, add_ForkServiceServicer_to_server
from treadle.streaming.v1.session_service_pb2_grpc import add_SessionServiceServicer_to_server


class FakeForks(ForkServiceServicer):
    """Idempotent by the branch's id, as the real one. `refusals`: what each method answers instead; `asked`: how often
    each method was called; `callers`: who did."""

    def __init__(self) -> None:
        self.forking: dict[str, pb.ForkSessionRequest] = {}
        self.finished: dict[str, pb.ForkSessionRequest] = {}
        self.abandoned: set[str] = set()
        self.refusals: dict[str, Refusal | Exception] = {}
        self.asked: Counter[str] = Counter()
        self.callers: set[Principal] = set()

    async def ForkSession(self, request: pb.ForkSessionRequest, context: Any) -> session_service_pb2.Session:
        """Makes it once."""
        self._ask("ForkSession")
        if request.session_id in self.abandoned:
            raise NotAllowed("SESSION_DELETED", "this session is deleted")
        if request.session_id not in self.finished:
            self.forking.setdefault(request.session_id, request)
        return session_service_pb2.Session(id=request.session_id, forking=True)

    async def FinishFork(self, request: pb.FinishForkRequest, context: Any) -> session_service_pb2.Session:
        """Ready."""
        self._ask("FinishFork")
        session = request.name.removeprefix("sessions/")
        if session in self.forking:
            self.finished[session] = self.forking.pop(session)
        if session not in self.finished:
            raise NotFound("SESSION_NOT_FOUND", "there is no such session")
        return session_service_pb2.Session(id=session)

    async def AbandonFork(self, request: pb.AbandonForkRequest, context: Any) -> pb.AbandonForkResponse:
        """Given up."""
        self._ask("AbandonFork")
        session = request.name.removeprefix("sessions/")
        if session in self.finished:
            raise NotAllowed("NOT_FORKING", "this session is no branch in the making")
        self.abandoned.add(session)
        return pb.AbandonForkResponse(deleted=self.forking.pop(session, None) is not None)

    def _ask(self, method: str) -> None:
        self.asked[method] += 1
        self.callers.add(current_principal())
        if (refusal := self.refusals.get(method)) is not None:
            raise refusal


@asynccontextmanager
async def serving_forks(
    fake: FakeForks, secret: str | None, listen: str = "127.0.0.1:0", turns: FakeTurns | None = None
) -> AsyncIterator[str]:
    """Its address."""
    servicers: list[Any] = [(add_ForkServiceServicer_to_server, fake, "treadle.streaming.v1.ForkService")]
    if turns is not None:
        servicers.append((add_SessionServiceServicer_to_server, turns, "treadle.streaming.v1.SessionService"))
    server = GrpcServer("streaming", listen, servicers, Authenticator(secret, SystemClock()))
    try:
        yield await server.start()
    finally:
        await server.stop(0)
