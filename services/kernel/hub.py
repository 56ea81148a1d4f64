"""The hub: one ring of encoded events per watched stream, and any number of readers of it
(design/streaming.md S.3).

Used by streaming (source: the log in JetStream) and by the gateway (source: one gRPC Subscribe); it knows
neither. Everything here runs on one event loop and without an await between copying a position and
registering it: that is the one lock of D1.3. Publishing never waits for a reader.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from services.kernel.cursors import Position
from services.kernel.frames import Frame
from services.kernel.hub_reader import Reader, ReaderLimits, StreamClosed
from services.kernel.ring import Ring, RingLimits

__all__ = ["Hub", "HubLimits", "Reader", "ReaderLimits", "Replayed", "RingLimits", "Source", "StreamClosed"]

_REST_MOST = 0.02
"""Seconds between two rounds of waking, at most."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """Some frames from the log, and the cursor of a reader that has them (set even where no frame
    matched)."""

    frames: list[Frame]
    cursor: str


class Source(Protocol):
    """Where one stream's events come from."""

    async def run(self, hub: Hub) -> None:
        """Feeds the hub until cancelled: `prime` once the ring's place is known, then `publish` in order,
        `advance` where nothing matched, `restart` when the stream began anew. May raise: it is then run
        again."""
        ...

    def replay(self, cursor: str) -> AsyncGenerator[Replayed, None]:
        """What a reader with this cursor must see before it can join the ring: a `reset` frame where the
        rules of D1.3 say so, then what is stored after the cursor. Ends when it is level with what is
        stored."""
        ...


@dataclass(frozen=True, slots=True)
class HubLimits:
    """Bounds of one hub; `idle` in seconds, after which a silent reader is given an empty answer (for a
    ping)."""

    ring: RingLimits = field(default_factory=RingLimits)
    reader: ReaderLimits = field(default_factory=ReaderLimits)
    idle: float = 15.0


class Hub:
    """One watched stream. `encode` makes the bytes that all readers share, once a frame."""

    def __init__(self, source: Source, encode: Callable[[Frame], bytes], limits: HubLimits) -> None:
        self.source = source
        self.encode = encode
        self.limits = limits
        self.ring = Ring(limits.ring)
        self._readers: set[Reader] = set()
        self._waiting: set[Reader] = set()
        self._primed = asyncio.Event()
        self._closed: str | None = None
        self._waking = False
        self._wake_again = False

    # For readers ----------------------------------------------------------------------------------

    def attach(self, cursor: str | None) -> Reader:
        """A reader that goes on after `cursor` (text as it came from the peer, however wrong). Never raises:
        what is wrong with the cursor is told in the stream (`reset`)."""
        reader = Reader(self, cursor or "")
        self._readers.add(reader)
        if self._closed is not None:
            reader.cut(self._closed)
        return reader

    @property
    def readers(self) -> int:
        """How many readers are attached."""
        return len(self._readers)

    # For the source -------------------------------------------------------------------------------

    def prime(self, position: Position, *, complete: bool) -> None:
        """The ring begins after `position`. `complete`: a reader that has nothing may begin there too,
        because nothing older is stored. Call it before the first publish."""
        if self.ring.generation not in (0, position.generation):
            self._cut_begun("generation")
        self.ring.restart(position, complete)

    def ready(self) -> None:
        """What was stored is published: readers may look for their place in the ring."""
        self._primed.set()

    def publish(self, frames: Iterable[Frame]) -> None:
        """Appends frames whose ids rise within the ring's generation, wakes who waits, cuts who is too far
        behind."""
        ring, encode = self.ring, self.encode
        for frame in frames:
            ring.append(int(frame.id[frame.id.rindex("-") + 1 :]), frame, encode(frame))
        self._wake_waiting()
        self._cut_slow()

    def advance(self, n: int) -> None:
        """The stream has come to `n` without an event for this hub."""
        self.ring.last = max(self.ring.last, n)
        if self._waiting:
            for reader in [reader for reader in self._waiting if reader.slot < 0]:
                self._waiting.discard(reader)
                reader.wake()

    def restart(self, position: Position, *, complete: bool, reason: str = "generation") -> None:
        """The stream began anew, or events are missing: every reader is closed with `reason`, and is told by
        a `reset` when it comes back with its cursor."""
        self._cut_begun(reason)
        self.ring.restart(position, complete)

    def close(self, reason: str) -> None:
        """Closes every reader, and every one that comes later."""
        self._closed = reason
        self.cut_all(reason)
        self._primed.set()

    def cut_all(self, reason: str) -> None:
        """Closes every reader of now; new ones may come."""
        for reader in list(self._readers):
            reader.cut(reason)

    # For Reader and Hubs --------------------------------------------------------------------------

    async def primed(self, seconds: float) -> bool:
        """Waits until the ring knows its place, at most so long."""
        if not self._primed.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._primed.wait()
        return self._primed.is_set()

    def join(self, reader: Reader, slot: int) -> None:
        """From here on the reader is served from the ring; only what comes from now on counts as its lag."""
        reader.slot, reader.joined_at = slot, self.ring.end

    def leave(self, reader: Reader) -> None:
        """Forgets the reader."""
        self._readers.discard(reader)
        self._waiting.discard(reader)

    def waits(self, reader: Reader) -> None:
        """The reader has everything and wants to be woken."""
        self._waiting.add(reader)

    def wake_idle(self, now: float) -> None:
        """Wakes readers that have waited for `idle` seconds; called about once a second with the loop's
        time."""
        for reader in [reader for reader in self._waiting if now - reader.waits_since >= self.limits.idle]:
            self._waiting.discard(reader)
            reader.wake()

    def _cut_begun(self, reason: str) -> None:
        for reader in [reader for reader in self._readers if reader.begun]:
            reader.cut(reason)

    def _wake_waiting(self) -> None:
        """Wakes who waits, but not while those woken last still write, nor in the quarter of that time after it: the
        source is read then, and what has come goes out in one write a reader."""
        if self._waking:
            self._wake_again = True
            return
        self._waking = True
        loop = asyncio.get_running_loop()
        begin = loop.time()
        self._wake_all()
        # Queued behind the readers that were woken: it runs when each of them has had its turn.
        loop.call_soon(lambda: loop.call_later(min((loop.time() - begin) / 4, _REST_MOST), self._rested))

    def _rested(self) -> None:
        self._waking = False
        if self._wake_again:
            self._wake_again = False
            self._wake_waiting()

    def _wake_all(self) -> None:
        waiting, self._waiting = self._waiting, set()
        end, now = self.ring.end, asyncio.get_running_loop().time()
        for reader in waiting:
            # It had everything until now: a burst, however long, does not make it slow.
            reader.joined_at = end
            if reader.on_news is not None and reader.slot >= 0 and reader.on_news():
                reader.waits_since = now
                self._waiting.add(reader)
            else:
                reader.wake()

    def _cut_slow(self) -> None:
        """A reader may be far behind with what was stored before it came (it reads the log, should the ring overtake
        it there), but not with what came since."""
        ring, limits = self.ring, self.limits.reader
        end, first = ring.end, ring.first
        slow = []
        for reader in self._readers:
            slot = reader.slot
            if slot == end or slot < 0 or reader in self._waiting:
                continue
            owed_from = max(slot, reader.joined_at)
            if owed_from < first or end - owed_from > limits.frames or ring.size(owed_from, end) > limits.bytes:
                slow.append(reader)
        for reader in slow:
            reader.cut("slow")
