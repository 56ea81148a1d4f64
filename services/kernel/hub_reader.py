"""A reader of a hub: one integer into the shared ring, a future while it waits, and why it was closed.

A reader owns no copy of anything; what bounds it is how far it may fall behind (`ReaderLimits`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from services.kernel.cursors import Absent, Position, parse
from services.kernel.frames import Frame
from services.kernel.ring import Elsewhere

if TYPE_CHECKING:
    from services.kernel.hub import Hub, Replayed

_RING_LAGS_AT_MOST = 1.0
"""Seconds that a reader which is level with the log waits for the ring before it reads the log again."""


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """How far a reader may fall behind what was published since it came; smaller than the ring, else a reader
    that comes back always finds a gap."""

    frames: int = 512
    bytes: int = 1024 * 1024


class StreamClosed(Exception):
    """The hub let this reader go. `reason`: slow, generation, deleted, drain or source; its last id is still
    good."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Reader:
    """Made by Hub.attach; close it, or use it as a context.

        async with hub.attach(cursor) as reader:
            while True:
                await write(await reader.wire() or PING)

    `on_cut` may be set: it is called with the reason when the reader is closed while it is busy elsewhere,
    for example in a write that its peer does not take. Cancel that write there.
    """

    def __init__(self, hub: Hub, cursor: str) -> None:
        self.on_cut: Callable[[str], None] | None = None
        self.on_news: Callable[[], bool] | None = None
        """May be set: called while `wire` waits and there is news; it may `take` it. True: all is taken, wait on (no
        task is woken, which is most of what a reader costs). False: `wire` returns."""
        self.cursor = cursor
        """The cursor of what this reader was given."""
        self.slot = -1
        """The ring's slot that comes next; negative while the reader is served from the log."""
        self.joined_at = -1
        self.waits_since = 0.0
        self.begun = False
        """Whether it was given anything, or is being served."""
        self._hub = hub
        self._future: asyncio.Future[None] | None = None
        self._closed: str | None = None
        self._replay: AsyncGenerator[Replayed, None] | None = None

    async def wire(self, most_bytes: int = 256 * 1024) -> bytes:
        """The next frames, encoded and joined (one object for all readers that are level); b"" after a
        silence of the hub's `idle` seconds. Raises StreamClosed."""
        match await self._more(most_bytes):
            case None:
                return b""
            case (int(start), int(end)):
                return self._hub.ring.wire(start, end)
            case frames:
                return b"".join(map(self._hub.encode, frames))

    def take(self, most_bytes: int = 256 * 1024) -> bytes:
        """What `wire` would give at once; b"" where it would wait, read the log, or raise."""
        ring = self._hub.ring
        if self._closed is not None or not ring.first <= self.slot < ring.end:
            return b""
        start, self.slot = self.slot, ring.fit(self.slot, most_bytes)
        self.cursor = ring.id_at(self.slot - 1)
        return ring.wire(start, self.slot)

    async def frames(self, most_bytes: int = 64 * 1024) -> list[Frame]:
        """The next frames; [] after a silence of the hub's `idle` seconds, and once when the reader has come to the
        end of what is stored and nothing is left to give. Raises StreamClosed."""
        match await self._more(most_bytes):
            case None:
                return []
            case (int(start), int(end)):
                return self._hub.ring.frames(start, end)
            case frames:
                return frames

    @property
    def position(self) -> str:
        """The cursor of a reader that has everything that this one has: of use when it is `level`."""
        return self._hub.ring.position if self.slot >= 0 else self.cursor

    @property
    def level(self) -> bool:
        """Whether everything that the hub has was given to this reader."""
        return self.slot >= 0 and self.slot == self._hub.ring.end

    async def close(self) -> None:
        """Leaves the hub and frees everything. May be called twice."""
        self._hub.leave(self)
        replay, self._replay = self._replay, None
        if replay is not None:
            await replay.aclose()

    def cut(self, reason: str) -> None:
        """Called by the hub: the reader's next call ends with StreamClosed(reason)."""
        if self._closed is None:
            self._closed = reason
            if not self.wake() and self.on_cut is not None:
                self.on_cut(reason)

    def wake(self) -> bool:
        """Called by the hub: ends a wait. False if the reader was not waiting."""
        if self._future is None:
            return False
        if not self._future.done():
            self._future.set_result(None)
        return True

    async def __aenter__(self) -> Reader:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _more(self, most_bytes: int) -> tuple[int, int] | list[Frame] | None:
        ring = self._hub.ring
        if self.slot == ring.end and self._closed is None:
            await self._wait()
        if self.slot < ring.first:
            self.slot = -1  # new, or overtaken by the ring while it waited or read what was stored before it came
            if not await self._hub.primed(self._hub.limits.idle):
                return None
            self.begun = True
            replayed = await self._catch_up()
            if replayed is not None:
                return replayed
        # What was published before a close is still given, except to a reader that is cut for being slow.
        if self._closed is not None and (self._closed != "deleted" or self.slot == ring.end):
            raise StreamClosed(self._closed)
        if self.slot == ring.end:
            return None
        start, self.slot = self.slot, ring.fit(self.slot, most_bytes)
        self.cursor = ring.id_at(self.slot - 1)
        return start, self.slot

    async def _catch_up(self) -> list[Frame] | None:
        """The next frames from the log, or None once the reader has joined the ring."""
        while self._closed is None:
            where = self._locate()
            if isinstance(where, int):
                await self._end_replay()
                self._hub.join(self, where)
                return None
            if self._replay is None:
                self._replay = self._hub.source.replay(self.cursor)
            replayed = await anext(self._replay, None)
            if replayed is not None:
                self.cursor = replayed.cursor
                if replayed.frames:
                    return replayed.frames
                continue
            self._replay = None
            if self._locate() is Elsewhere.NEWER:
                await self._wait_for_ring()
        await self._end_replay()
        raise StreamClosed(self._closed)

    def _locate(self) -> int | Elsewhere:
        match parse(self.cursor):
            case Position() as position:
                return self._hub.ring.locate(position)
            case Absent():
                return self._hub.ring.locate(None)
            case _:
                return Elsewhere.OLDER

    async def _end_replay(self) -> None:
        replay, self._replay = self._replay, None
        if replay is not None:
            await replay.aclose()

    async def _wait_for_ring(self) -> None:
        timer = asyncio.get_running_loop().call_later(_RING_LAGS_AT_MOST, self.wake)
        try:
            await self._wait()
        finally:
            timer.cancel()

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self.waits_since = loop.time()
        self._future = loop.create_future()
        self._hub.waits(self)
        try:
            await self._future
        finally:
            self._future = None
