"""The contexts of coordination and of planning over their gRPC stubs, asked with the session's own token."""

from __future__ import annotations

import grpc

from services.kernel import request as requests
from services.runner.adapters.refusing import refusing
from services.runner.application.sessions.context import DEADLINE_SECONDS
from treadle.coordination.v1 import coordination_service_pb2 as coordination
from treadle.coordination.v1.coordination_service_pb2_grpc import CoordinationServiceStub
from treadle.planning.v1 import planning_service_pb2 as planning
from treadle.planning.v1.planning_service_pb2_grpc import PlanningServiceStub


class CoordinationContext:
    """Thread mode and roster, or a worker's assignment. Implements sessions.context.ContextSource."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = CoordinationServiceStub(channel)

    async def compose(self, session: str, turn: str, token: str) -> str:
        """Kept by the service for each turn."""
        request = coordination.ComposeContextRequest(parent=f"sessions/{session}", turn_id=turn)
        call = self._stub.ComposeContext(request, timeout=DEADLINE_SECONDS, metadata=as_session(token))
        return (await refusing(call)).text


class PlanningContext:
    """Objective and plan. Implements sessions.context.ContextSource."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = PlanningServiceStub(channel)

    async def compose(self, session: str, turn: str, token: str) -> str:
        """Kept by the service for each turn."""
        request = planning.ComposePlanContextRequest(name=f"sessions/{session}", turn_id=turn)
        call = self._stub.ComposePlanContext(request, timeout=DEADLINE_SECONDS, metadata=as_session(token))
        return (await refusing(call)).text


def as_session(token: str) -> grpc.aio.Metadata:
    """The authorization of a session's agent; none without a token."""
    return grpc.aio.Metadata(*([(requests.AUTHORIZATION_KEY, f"Bearer {token}")] if token else []))
