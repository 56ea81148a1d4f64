"""A feed of domain facts for the hub: live from this replica's consumer, older ones from the stream (S.4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from services.kernel import cursors, frames, jetstream, streams
from services.kernel.bus import Bus, token
from services.kernel.cursors import Position
from services.kernel.errors import Unavailable
from services.kernel.frames import Frame
from services.kernel.hub import Hub, Replayed
from services.kernel.jetstream import Stored
from services.kernel.streams import DOMAIN
from services.streaming.adapters.domain_feed import DomainFeed, Remembered, fact_of
from services.streaming.application.ports import FeedKey

_BEHIND_PAUSE = 0.05
_REMEMBERED = 20_000


class FeedSource:
    """Fills `Source` for one feed."""

    def __init__(self, bus: Bus, feed: DomainFeed, key: FeedKey) -> None:
        token(key.tenant)
        if key.of is not None:
            token(key.of)
        self._bus = bus
        self._feed = feed
        self._key = key

    async def run(self, hub: Hub) -> None:
        """Watches until cancelled."""
        try:
            await self._feed.watch(self._key, hub)
            await asyncio.Event().wait()
        finally:
            self._feed.unwatch(self._key)

    async def replay(self, cursor: str) -> AsyncGenerator[Replayed, None]:
        """From the stream. It is trimmed from its head only: older than the first is a gap, newer than the leader's
        last is ahead."""
        state = await streams.state_of(self._bus, DOMAIN)
        if state is None:
            raise Unavailable("STREAM_MISSING", "the stream of facts is not there yet")
        start = cursors.start_of(cursors.parse(cursor), state.epoch, state.first_seq, state.last_seq, bare=False)
        seen = Remembered(_REMEMBERED)
        after = start.after
        if start.reset:
            oldest = "" if state.last_seq < state.first_seq else str(Position(state.epoch, state.first_seq))
            yield Replayed([frames.reset(start.reset, oldest)], str(Position(state.epoch, 0)))
        subject = self._filter()
        while True:
            async for chunk in jetstream.read_from(self._bus, DOMAIN, subject, after + 1):
                after = chunk[-1].seq
                yield Replayed(self._frames(chunk, state.epoch, seen), str(Position(state.epoch, after)))
            # A direct get may be behind; the leader says whether that was all.
            if await jetstream.next_of(self._bus, DOMAIN, subject, after + 1) is None:
                break
            await asyncio.sleep(_BEHIND_PAUSE)
        yield Replayed([], str(Position(state.epoch, max(after, state.last_seq))))

    def _filter(self) -> str:
        scope = self._key.of and self._feed.scope_of(self._key.tenant, self._key.of)
        return f"domain.{self._key.tenant}.{scope or '*'}.>"

    def _frames(self, chunk: list[Stored], epoch: int, seen: Remembered) -> list[Frame]:
        found = []
        for stored in chunk:
            fact = fact_of(stored.subject, stored.data)
            if fact is None or (self._key.of is not None and self._key.of not in fact.told.feeds):
                continue
            if seen.add(fact.told.event_id):
                found.append(Frame(str(Position(epoch, stored.seq)), fact.told.event, fact.told.line))
        return found
