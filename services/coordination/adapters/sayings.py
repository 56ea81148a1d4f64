"""What the agent of a registered worker's session said last, read in streaming by a token of the service's own: the
coordinator's agent may not read another session. Best effort: any trouble is nothing said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

import grpc

from services.coordination.application.result_ports import Said
from services.kernel.ids import is_id
from services.kernel.service_tokens import ServiceTokens
from services.kernel.telemetry import get_logger
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub

_WITHIN: Final = 2.0
"""Seconds for all of it: collecting does not wait."""
_LOOKED_AT: Final = 50
"""The newest messages among which an answer is looked for (A4)."""
_PAGE: Final = 200
_log = get_logger("coordination.sayings")


class StreamingSayings:
    """Fills `Sayings`."""

    def __init__(self, channel: grpc.aio.Channel, tokens: ServiceTokens, seconds: float = _WITHIN) -> None:
        self._sessions = SessionServiceStub(channel)
        self._tokens = tokens
        self._seconds = seconds

    async def newest(self, tenant: str, session_id: str, since: datetime) -> Said | None:
        """The newest turn's own words, else those of the turns before."""
        if not is_id("ses", session_id):
            return None  # it runs in another system
        authorization = self._tokens.metadata(tenant)
        name = f"sessions/{session_id}"
        try:
            async with asyncio.timeout(self._seconds):
                turn = await self._sessions.GetTurn(pb.GetTurnRequest(name=name), metadata=authorization)
                of_turn = [one async for one in self._messages(name, turn.id, authorization)]
                found = _newest(of_turn, since)
                if found is None:
                    of_all = [one async for one in self._messages(name, "", authorization)]
                    found = _newest(of_all[-_LOOKED_AT:], since)
                return found
        except (grpc.aio.AioRpcError, TimeoutError) as fault:
            reason = fault.code().name if isinstance(fault, grpc.aio.AioRpcError) else "TIMEOUT"
            _log.info("session.not_read", session=session_id, reason=reason)
            return None

    async def _messages(
        self, name: str, turn_id: str, authorization: tuple[tuple[str, str], ...]
    ) -> AsyncIterator[pb.Message]:
        token = ""
        while True:
            request = pb.ListMessagesRequest(parent=name, turn_id=turn_id, page_size=_PAGE, page_token=token)
            page = await self._sessions.ListMessages(request, metadata=authorization)
            for message in page.messages:
                yield message
            token = page.next_page_token
            if not token:
                return


def _newest(messages: list[pb.Message], since: datetime) -> Said | None:
    for message in reversed(messages):
        at = message.create_time.ToDatetime(UTC)
        if message.role == "assistant" and message.text.strip() and at > since:
            return Said(f"{message.turn_id}.{message.sequence}", message.text, message.partial, at)
    return None
