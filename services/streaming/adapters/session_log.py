"""The log of sessions in JetStream: one subject a session, appended by expected last sequence (S.1).

No Nats-Msg-Id: a lost acknowledgement answers differently on one node and on three. What was stored is found by
reading.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Set
from functools import lru_cache
from typing import Final

from services.kernel import jetstream
from services.kernel.bus import Bus, token
from services.kernel.cursors import Position, position_of
from services.kernel.errors import Unavailable
from services.kernel.frames import Frame
from services.kernel.jetstream import EXPECT_SUBJECT, Refused, Stored
from services.kernel.streams import SESSIONS
from services.streaming.application.ports import NotNext, SessionKey
from services.streaming.domain.log import Entry, Origin

ENTRY: Final = "Treadle-Entry"
"""`{generation}-{n} {event id} {name} {epoch}.{numbering}.{sequence}.{parts}`: one header, since each costs time."""
_APPEND_SECONDS: Final = 5.0


@lru_cache(maxsize=10_000)
def subject_of(key: SessionKey) -> str:
    """The session's subject. Invalid when a part of it could be anything but one token."""
    return f"session.{token(key.tenant)}.{token(key.session)}"


class JetStreamSessionLog:
    """Fills `SessionLog`."""

    def __init__(self, bus: Bus, ensure: Callable[[], Awaitable[object]]) -> None:
        self._bus = bus
        self._ensure = ensure

    async def append(self, key: SessionKey, entry: Entry, after: int) -> int:
        """One publish; NotNext when the expectation fails, Unavailable when nobody knows."""
        epoch, numbering, sequence, parts = entry.origin
        origin = f"{epoch}.{numbering}.{sequence}.{parts}"
        headers = {
            EXPECT_SUBJECT: str(after),
            ENTRY: f"{entry.generation}-{entry.n} {entry.event_id} {entry.name} {origin}",
        }
        try:
            return await jetstream.publish(self._bus, subject_of(key), entry.line, headers, _APPEND_SECONDS)
        except Refused as refused:
            if refused.out_of_order:
                raise NotNext from refused
            raise Unavailable("LOG_UNAVAILABLE", "the session's log does not take events right now") from refused

    async def tail(self, key: SessionKey) -> Entry | None:
        """The newest entry, from the leader. A stream that is gone is made anew, and empty."""
        try:
            stored = await jetstream.last_of(self._bus, SESSIONS, subject_of(key))
        except Refused as refused:
            if refused.code != jetstream.STREAM_NOT_FOUND:
                raise
            await self._ensure()
            return None
        return None if stored is None else entry_of(stored)

    async def find(self, key: SessionKey, event_ids: Set[str], after: int, upto: int) -> set[str]:
        """Reads forward; a direct get may be behind, so that only a read that came to `upto` may say no."""
        found: set[str] = set()
        if after >= upto:
            return found
        async for chunk in jetstream.read_from(self._bus, SESSIONS, subject_of(key), after + 1):
            found |= event_ids & {_words(one)[1] for one in chunk}
            if chunk[-1].seq >= upto:
                return found
        raise Unavailable("LOG_UNAVAILABLE", "the session's log is not level yet")

    async def entries(self, key: SessionKey, after: int) -> AsyncIterator[list[Entry]]:
        """What stands behind that sequence. Level with the leader's tail, or Unavailable."""
        tail = await self.tail(key)
        if tail is None or tail.seq <= after:
            return
        async for chunk in jetstream.read_from(self._bus, SESSIONS, subject_of(key), after + 1):
            yield [entry_of(one) for one in chunk]
            if chunk[-1].seq >= tail.seq:
                return
        raise Unavailable("LOG_UNAVAILABLE", "the session's log is not level yet")

    async def purge(self, key: SessionKey) -> None:
        """Removes the subject's messages."""
        try:
            await jetstream.api(self._bus, f"STREAM.PURGE.{SESSIONS}", {"filter": subject_of(key)})
        except Refused as refused:
            if refused.code != jetstream.STREAM_NOT_FOUND:
                raise Unavailable("LOG_UNAVAILABLE", "the session's log cannot be purged right now") from refused


def entry_of(stored: Stored) -> Entry:
    """The entry that a stored message is."""
    place, event_id, name, origin = _words(stored)
    generation, n = position_of(place) or (0, 0)
    return Entry(stored.seq, generation, n, event_id, name, Origin(*map(int, origin.split("."))), stored.data)


def frame_of(stored: Stored) -> tuple[Position, Frame]:
    """The entry's place, and the entry as readers get it."""
    place, _, name, _ = _words(stored)
    return position_of(place) or Position(0, 0), Frame(place, name, stored.data)


def _words(stored: Stored) -> list[str]:
    words = stored.headers.get(ENTRY, "").split(" ")
    return words if len(words) == 4 else ["", "", "", "0.0.0.0"]
