"""A session's stream for the hub: the log in JetStream, followed live over one core subscription (S.3).

Subscribe first, then read the log; a live message is taken only if it is the ring's next by `Nats-Last-Sequence`,
otherwise, on reconnect and every 15 seconds the log is read forward. Nothing is ever skipped in silence: `n` is
dense.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from nats.aio.msg import Msg

from services.kernel import cursors, frames, jetstream
from services.kernel.bus import Bell, Bus
from services.kernel.cursors import Position
from services.kernel.frames import Frame
from services.kernel.hub import Hub, Replayed
from services.kernel.jetstream import Stored
from services.kernel.streams import SESSIONS
from services.streaming.adapters.session_log import frame_of, subject_of
from services.streaming.application.ports import SessionKey

_LOOK_SECONDS = 15.0


class SessionSource:
    """Fills `Source` for one session; one hub at a time."""

    def __init__(self, bus: Bus, key: SessionKey) -> None:
        self._bus = bus
        self._subject = subject_of(key)
        self._hub: Hub | None = None
        self._last_seq: int | None = None
        self._last = Position(0, 0)
        self._fresh: list[Frame] = []
        self._look = Bell()

    async def run(self, hub: Hub) -> None:
        """Follows the log until cancelled."""
        self._hub = hub
        subscription = await self._bus.subscribe(f"live.{self._subject}", self._live)
        try:
            with self._bus.on_reconnect(self._look.ring):
                if self._last_seq is None:
                    hub.prime(Position(0, 0), complete=True)
                while True:
                    await self._read_forward()
                    hub.ready()
                    await self._look.wait(_LOOK_SECONDS)
        finally:
            await self._bus.unsubscribe(subscription)

    async def replay(self, cursor: str) -> AsyncGenerator[Replayed, None]:
        """From the log: what the cursor's rules say (D1.3), of the generation that is in force."""
        tail = await self._tail()
        if tail is None:
            start = cursors.start_of(cursors.parse(cursor), 0, 1, 0, bare=True)
            yield Replayed([frames.reset(start.reset, "")] if start.reset else [], "")
            return
        last, _ = frame_of(tail)
        first: int | None = None
        async for chunk in jetstream.read_from(self._bus, SESSIONS, self._subject, 1):
            current = [one for one in map(frame_of, chunk) if one[0].generation == last.generation]
            if not current:
                continue
            if first is None:
                first = current[0][0].n
                start = cursors.start_of(cursors.parse(cursor), last.generation, first, last.n, bare=True)
                after, given = start.after or first - 1, []
                if start.reset:
                    given.append(frames.reset(start.reset, str(Position(last.generation, first))))
            for (_, n), frame in current:
                if n <= after:
                    continue
                if n != after + 1:  # trimmed under our hands: told, like any other gap
                    given.append(frames.reset("gap", str(Position(last.generation, n))))
                given.append(frame)
                after = n
            yield Replayed(given, str(Position(last.generation, after)))
            given = []

    async def _live(self, message: Msg) -> None:
        headers = message.headers or {}
        seq, before = int(headers["Nats-Sequence"]), int(headers["Nats-Last-Sequence"])
        stored = Stored(self._subject, seq, headers, message.data)
        if self._last_seq is not None and before == self._last_seq:
            self._take(stored)
        elif self._last_seq is None or seq > self._last_seq or frame_of(stored)[0] > self._last:
            self._look.ring()  # else it was read from the log already

    async def _read_forward(self) -> None:
        async for chunk in jetstream.read_from(self._bus, SESSIONS, self._subject, (self._last_seq or 0) + 1):
            for stored in chunk:
                if self._last_seq is None or stored.seq > self._last_seq:
                    self._take(stored)
        known = self._last_seq
        if known is None:
            return
        tail = await self._tail()
        if tail is None or tail.seq < known:
            # Another log than the one that was followed: begin again with whatever it has.
            self._last_seq, self._last = None, Position(0, 0)
            assert self._hub is not None
            self._hub.restart(Position(0, 0), complete=True)
            if tail is not None:
                self._look.ring()

    async def _tail(self) -> Stored | None:
        try:
            return await jetstream.last_of(self._bus, SESSIONS, self._subject)
        except jetstream.Refused as refused:
            if refused.code == jetstream.STREAM_NOT_FOUND:
                return None  # its writer makes it anew, with a new generation
            raise

    def _take(self, stored: Stored) -> None:
        """The next message of the subject. Frames are published together, once a turn of the event loop."""
        assert self._hub is not None
        position, frame = frame_of(stored)
        if position.generation != self._last.generation or position.n != self._last.n + 1:
            self._publish()
            begins = Position(position.generation, position.n - 1)
            if self._last.generation == 0:
                # Read from the log's beginning: of this generation nothing older is stored.
                self._hub.prime(begins, complete=True)
            else:
                newer = position.generation != self._last.generation
                self._hub.restart(begins, complete=begins.n == 0, reason="generation" if newer else "gap")
        self._last_seq, self._last = stored.seq, position
        if not self._fresh:
            asyncio.get_running_loop().call_soon(self._publish)
        self._fresh.append(frame)

    def _publish(self) -> None:
        fresh, self._fresh = self._fresh, []
        if fresh and self._hub is not None:
            self._hub.publish(fresh)
            if fresh[-1].event == "deleted":
                self._hub.cut_all("deleted")
