"""FeedService: every stream is a reader of a hub, written in batches; who does not keep up is cut with a reason."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc

from services.kernel.access import caller
from services.kernel.errors import Unavailable
from services.kernel.hub import StreamClosed
from services.kernel.hubs import Hubs, Key
from services.streaming.application.ports import FeedKey, SessionKey
from services.streaming.application.sessions import Sessions
from services.streaming.domain.errors import reader_too_slow
from services.streaming.transport import names, translate
from services.streaming.transport.access import READERS, acting, check_own
from treadle.streaming.v1 import feed_service_pb2 as pb
from treadle.streaming.v1.feed_service_pb2_grpc import FeedServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_BATCH_BYTES = 64 * 1024
_GRACE = 1.0
"""Seconds that a write under way is given when its reader is closed for another reason than being slow."""


class FeedServicer(FeedServiceServicer):
    """Authorises when a reader attaches; holds no database connection while it streams (PUB17)."""

    def __init__(self, sessions: Sessions, of_session: Hubs[SessionKey], of_facts: Hubs[FeedKey]) -> None:
        self._sessions = sessions
        self._of_session = of_session
        self._of_facts = of_facts

    async def SubscribeSession(
        self, request: pb.SubscribeSessionRequest, context: _Context
    ) -> AsyncIterator[pb.FrameBatch]:
        """A session's events."""
        session = await self._sessions.get(*acting(READERS, request.name))
        key = SessionKey(session.tenant, session.id)
        _end(await _serve(self._of_session, key, request.last_event_id, context))
        return
        yield pb.FrameBatch()  # makes this a generator, which is what a streaming handler is

    async def SubscribeThread(
        self, request: pb.SubscribeThreadRequest, context: _Context
    ) -> AsyncIterator[pb.FrameBatch]:
        """A thread and its descendants, which are no agent's: whose proposal a thread is, is not known here."""
        reader = caller(*READERS)
        check_own(reader, None)
        key = FeedKey(reader.tenant, names.thread_id(request.name))
        _end(await _serve(self._of_facts, key, request.last_event_id, context))
        return
        yield pb.FrameBatch()

    async def SubscribeWorkers(
        self, request: pb.SubscribeWorkersRequest, context: _Context
    ) -> AsyncIterator[pb.FrameBatch]:
        """A coordinator's workers."""
        session = await self._sessions.get(*acting(READERS, request.name))
        key = FeedKey(session.tenant, session.id)
        _end(await _serve(self._of_facts, key, request.last_event_id, context))
        return
        yield pb.FrameBatch()

    async def SubscribeTenant(
        self, request: pb.SubscribeTenantRequest, context: _Context
    ) -> AsyncIterator[pb.FrameBatch]:
        """The whole tenant, which is no agent's."""
        reader = caller(*READERS)
        check_own(reader, None)
        key = FeedKey(reader.tenant, None)
        _end(await _serve(self._of_facts, key, request.last_event_id, context))
        return
        yield pb.FrameBatch()


def _end(reason: str) -> None:
    """Tells why a stream ended. No reader is held here: a status waits until a stalled peer reads again."""
    if reason == "slow":
        raise reader_too_slow()
    if reason == "drain":
        raise Unavailable("STREAM_DRAINING", "this server is stopping: come back with the last id")


async def _serve(hubs: Hubs[Key], key: Key, cursor: str, context: _Context) -> str:
    """Writes until the reader is closed; answers the reason. A write that the peer does not take is broken off when the
    reader is cut."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    cut: list[str] = []
    timers: list[asyncio.TimerHandle] = []

    def on_cut(reason: str) -> None:
        cut.append(reason)
        timers.append(loop.call_later(0 if reason == "slow" else _GRACE, task.cancel))

    async with hubs.reader(key, cursor) as reader:
        reader.on_cut = on_cut
        try:
            while True:
                frames = await reader.frames(_BATCH_BYTES)
                # A reader that is level is told its place: at first, and as a checkpoint when nothing happens for long.
                position = reader.position if not frames or reader.level else ""
                await context.write(translate.batch(frames, position))
        except StreamClosed as closed:
            return closed.reason
        except asyncio.CancelledError:
            if not cut:
                raise
            task.uncancel()
            return cut[0]
        finally:
            for timer in timers:
                timer.cancel()
