"""Streaming's turns in memory, as far as planning asks of them: behind real gRPC, beside fork_service."""

from __future__ import annotations

import asyncio
from typing import Any

from services.kernel.errors import NotFound, Refusal
from services.kernel.principal import Principal
from services.kernel.request import current_principal
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceServicer


class FakeTurns(SessionServiceServicer):
    """`outcomes`: of turns by id, empty while they are under way; `refusal`: what is answered instead; `asked`: which
    turns; `hold`: answers wait until `free`."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.refusal: Refusal | None = None
        self.asked: list[str] = []
        self.callers: set[Principal] = set()
        self.held = asyncio.Event()
        self.free = asyncio.Event()
        self.free.set()

    async def GetTurn(self, request: pb.GetTurnRequest, context: Any) -> pb.SessionTurn:
        """The turn that is named."""
        self.asked.append(request.turn_id)
        self.callers.add(current_principal())
        self.held.set()
        await self.free.wait()
        if self.refusal is not None:
            raise self.refusal
        outcome = self.outcomes.get(request.turn_id)
        if outcome is None:
            raise NotFound("TURN_NOT_FOUND", "there is no such turn")
        turn = pb.SessionTurn(id=request.turn_id)
        if outcome in ("ok", "truncated", "aborted"):
            turn.state, turn.outcome = pb.Session.STATE_IDLE, outcome
        elif outcome:
            turn.state, turn.code = pb.Session.STATE_FAILED, outcome
        else:
            turn.state, turn.live = pb.Session.STATE_RUNNING, True
        if outcome:
            turn.end_time.GetCurrentTime()
        return turn
