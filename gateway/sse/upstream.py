"""The source of a gateway hub: one gRPC Subscribe that feeds the ring, and one more for a reader from before the ring.

Where the service stands is told by `position` in its batches; what a cursor means is decided there, not here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import grpc

from gateway.transcode.json_read import quoted
from services.kernel import telemetry
from services.kernel.cursors import Position, position_of
from services.kernel.errors import Refusal, Unavailable
from services.kernel.frames import Frame, escape_line_ends
from services.kernel.grpc_errors import refusal_from
from services.kernel.hub import Hub, Replayed, StreamClosed

_log = telemetry.get_logger("gateway.sse")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
_COME_BACK: Final = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.CANCELLED}
)
"""Ends of the service's side after which the gateway subscribes again, and readers notice nothing."""

Subscribe = Callable[[str], Any]
"""Opens the service's stream after a cursor (`last_event_id`); answers the gRPC call."""


class Upstream:
    """One watched stream (a `kernel.hub.Source`). `accepted` tells the first reader whether there is such a stream."""

    def __init__(self, subscribe: Subscribe, cursor: str, gone: Callable[[], None]) -> None:
        """`cursor` is the first reader's: the ring begins there (a feed may be long), or with all that is stored.
        `gone` is called when the service refuses the stream: the hub is of no use any more."""
        self._subscribe = subscribe
        self._start = position_of(cursor)
        self._gone = gone
        self._accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._primed = False
        self._begins = True

    async def accepted(self, seconds: float) -> None:
        """Returns once the service has taken the subscription; raises its refusal, or Unavailable when it cannot
        be reached in time."""
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._accepted)
        except TimeoutError:
            raise Unavailable("STREAM_UNAVAILABLE", "the stream cannot be reached now: try again") from None

    async def run(self, hub: Hub) -> None:
        """Feeds the hub for ever: after a break it goes on from the ring's last event."""
        failures = 0
        while True:
            try:
                async with _stream(self._subscribe, self._from(hub)) as batches:
                    async for batch in batches:
                        self._take(hub, batch)
                        failures = 0
                _log.info("sse.upstream_ended")
            except grpc.aio.AioRpcError as error:
                if error.code() not in _COME_BACK:
                    self._give_up(error)
                    return
                _log.info("sse.upstream_broke", code=error.code().name)
            await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
            failures += 1

    async def replay(self, cursor: str) -> AsyncGenerator[Replayed, None]:
        """What a reader with this cursor must see first, as the service tells it; ends when it is level."""
        try:
            async with _stream(self._subscribe, cursor) as batches:
                async for batch in batches:
                    frames = _frames(batch)
                    named = [frame.id for frame in frames if frame.id]
                    cursor = batch.position or (named[-1] if named else cursor)
                    yield Replayed(frames, cursor)
                    if batch.position:
                        return
        except grpc.aio.AioRpcError as error:
            _log.info("sse.replay_broke", code=error.code().name)
        raise StreamClosed("source")

    def _from(self, hub: Hub) -> str:
        """The cursor to subscribe from."""
        if self._primed:
            return hub.ring.position
        return "" if self._start is None else str(self._start)

    def _take(self, hub: Hub, batch: Any) -> None:
        frames = _frames(batch)
        events = [frame for frame in frames if frame.id]
        level = position_of(batch.position)
        if len(events) < len(frames):  # a reset: what follows does not continue the ring, and is all that is stored
            self._start, self._begins = None, True
        began = self._start or (_before(events[0]) if events else level)
        if self._begins and began is not None:
            self._begin(hub, began)
        if events:
            hub.publish(events)
        if level is not None:
            hub.advance(level.n)
            hub.ready()
        if not self._accepted.done():
            self._accepted.set_result(None)

    def _begin(self, hub: Hub, position: Position) -> None:
        """The ring begins anew. Readers from before are closed, and told what their own cursor deserves when they
        come back."""
        if self._primed:
            hub.restart(position, complete=True, reason="source")
        else:
            hub.prime(position, complete=self._start is None)
        self._primed, self._begins = True, False

    def _give_up(self, error: grpc.aio.AioRpcError) -> None:
        refusal = refusal_from(error) or Refusal("INTERNAL", "internal error")
        _log.info("sse.upstream_refused", code=error.code().name, reason=refusal.reason)
        if not self._accepted.done():
            self._accepted.set_exception(refusal)
            self._accepted.exception()  # looked at here, so that nobody has to
        self._gone()


@asynccontextmanager
async def _stream(subscribe: Subscribe, cursor: str) -> AsyncIterator[AsyncIterator[Any]]:
    """The batches of one call; leaving it cancels the call, so that the service frees its side at once."""
    call = subscribe(cursor)
    try:
        yield aiter(call)
    finally:
        call.cancel()


def _frames(batch: Any) -> list[Frame]:
    """The batch's frames as they can be written. What would break the framing is a bug of the service, not data
    (PUB15): it is left out, so that it does not stop what comes after it for ever."""
    frames = []
    for message in batch.frames:
        frame = Frame(message.id, message.event, escape_line_ends(message.data))
        named = _NAME.fullmatch(frame.event) and (not frame.id or position_of(frame.id) is not None)
        if named and b"\n" not in frame.data and b"\r" not in frame.data:
            frames.append(frame)
        else:
            _log.error("sse.frame_left_out", stream_event=quoted(frame.event), position=quoted(frame.id))
    return frames


def _before(first: Frame) -> Position:
    """Where a reader stands that lacks this frame and nothing older."""
    position = position_of(first.id)
    assert position is not None
    return Position(position.generation, position.n - 1)
