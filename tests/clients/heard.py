"""What every client answers: the events that it was handed, in order, up to the one that ends the reading."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from treadle.streaming.v1.session_event_pb2 import FeedEvent, SessionEvent

NAMES: Final = sorted({field.name for kind in (SessionEvent, FeedEvent) for field in kind.DESCRIPTOR.fields})
"""Every event's name: an EventSource hears only what it asks for."""
LISTENED: Final = [*NAMES, "message", "x"]
"""Also what must never come: an event without a name, and the one that a text tries to smuggle in."""


class Heard(NamedTuple):
    """One event as a client handed it over. `id`: the client's last id when it did."""

    id: str
    event: str
    data: str


class Client(Protocol):
    """A real client, which reconnects by itself with its last id."""

    async def read(self, path: str, end: str) -> list[Heard]:
        """Everything up to the first event whose data contains `end`."""
        ...
