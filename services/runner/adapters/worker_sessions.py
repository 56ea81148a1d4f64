"""A worker's session over the streaming service's stubs, asked with the worker's own token."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

import grpc
import orjson

from services.kernel.errors import NotAllowed, NotFound
from services.runner.adapters.contexts import as_session
from services.runner.adapters.refusing import refusal_of, refusing
from services.runner.application.workers.ports import News
from services.runner.domain.worker import SessionTurn, TurnState, WorkerOrder
from treadle.streaming.v1 import feed_service_pb2 as feeds
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.feed_service_pb2_grpc import FeedServiceStub
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub

_CALL_SECONDS: Final = 10.0
_STATES: Final = {
    pb.Session.STATE_IDLE: TurnState.IDLE,
    pb.Session.STATE_RUNNING: TurnState.RUNNING,
    pb.Session.STATE_WAITING: TurnState.WAITING,
    pb.Session.STATE_FAILED: TurnState.FAILED,
}
_SPEECH: Final = frozenset({"activity_delta", "text_delta", "tool", "gate"})


class WorkerStreams:
    """Implements workers.ports.WorkerSessions."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._sessions = SessionServiceStub(channel)
        self._feeds = FeedServiceStub(channel)

    async def create(self, order: WorkerOrder) -> None:
        """With the id that coordination has chosen."""
        request = pb.CreateSessionRequest(
            adapter=order.adapter,
            provider=order.provider,
            model=order.model,
            thinking=order.thinking,
            title=order.title,
            session_id=order.session.removeprefix("sessions/"),
            coordinator=f"sessions/{order.coordinator}" if order.coordinator else "",
        )
        await refusing(self._sessions.CreateSession(request, timeout=_CALL_SECONDS, metadata=_as(order)))

    async def prompt(self, order: WorkerOrder, request_id: str) -> str:
        """With the brief."""
        request = pb.PromptSessionRequest(name=order.session, text=order.prompt, request_id=request_id)
        call = self._sessions.PromptSession(request, timeout=_CALL_SECONDS, metadata=_as(order))
        return (await refusing(call)).turn_id

    async def turn(self, order: WorkerOrder, turn_id: str = "") -> SessionTurn | None:
        """One call."""
        request = pb.GetTurnRequest(name=order.session, turn_id=turn_id)
        try:
            turn = await refusing(self._sessions.GetTurn(request, timeout=_CALL_SECONDS, metadata=_as(order)))
        except NotFound as refusal:
            if refusal.reason == "TURN_NOT_FOUND":
                return None
            raise
        return SessionTurn(turn.id, _STATES[turn.state], turn.outcome, turn.code, turn.said, turn.tokens)

    async def watch(self, order: WorkerOrder, cursor: str) -> AsyncGenerator[News, None]:
        """The session's stream."""
        request = feeds.SubscribeSessionRequest(name=order.session, last_event_id=cursor)
        call = self._feeds.SubscribeSession(request, metadata=_as(order))
        try:
            async for batch in call:
                for frame in batch.frames:
                    yield _news(frame)
        except grpc.aio.AioRpcError as error:
            raise refusal_of(error) from None
        finally:
            call.cancel()

    async def text(self, order: WorkerOrder, turn_id: str) -> str:
        """All pages."""
        texts, token = list[str](), ""
        while True:
            request = pb.ListMessagesRequest(parent=order.session, turn_id=turn_id, page_token=token)
            page = await refusing(self._sessions.ListMessages(request, timeout=_CALL_SECONDS, metadata=_as(order)))
            texts += [message.text for message in page.messages if message.role == "assistant" and message.text]
            token = page.next_page_token
            if not token:
                return "\n\n".join(texts)

    async def abort(self, order: WorkerOrder) -> None:
        """A turn that has ended meanwhile is as good."""
        request = pb.AbortSessionRequest(name=order.session)
        try:
            await refusing(self._sessions.AbortSession(request, timeout=_CALL_SECONDS, metadata=_as(order)))
        except NotAllowed as refusal:
            if refusal.reason != "TURN_NOT_RUNNING":
                raise


def _as(order: WorkerOrder) -> grpc.aio.Metadata:
    return as_session(order.token)


def _news(frame: feeds.Frame) -> News:
    if frame.event == "turn":
        body = orjson.loads(frame.data)
        state = body.get("state", "")
        return News(frame.id, turn=str(body.get("turn_id") or ""), state=TurnState(state))
    if frame.event == "deleted":
        raise NotFound("SESSION_NOT_FOUND", "the worker's session was deleted")
    return News(frame.id, said=frame.event in _SPEECH)
