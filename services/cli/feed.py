"""A feed of events over SSE that survives disconnects: it comes back with its cursor and repeats nothing."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx
import orjson
from httpx_sse import SSEError, aconnect_sse

from services.cli.client import Client, failure, unreachable
from services.cli.exits import CommandFailed, Exit

_TIMEOUT: Final = httpx.Timeout(10.0, read=60.0)
"""Keep-alives come more often: a minute of silence is a dead connection."""
_PAUSE_FIRST: Final = 0.5
_PAUSE_MOST: Final = 10.0
_REMEMBERED: Final = 10_000
_AWAY: Final = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One event: its cursor, its name and its data. The connection's own are `disconnected` and `connected`."""

    id: str
    name: str
    data: dict[str, Any]


class Feed:
    """Reads one feed. `opened_at` is the server's time when it was first opened."""

    def __init__(self, client: Client, path: str, cursor: str = "") -> None:
        self._client = client
        self._path = path
        self._cursor = cursor
        self._seen: deque[str] = deque(maxlen=_REMEMBERED)
        self._first = _PAUSE_FIRST
        self._pause = self._first
        self._connected = False
        self.opened_at: datetime | None = None

    async def events(self) -> AsyncGenerator[FeedEvent, None]:
        """For ever. A feed that cannot be opened at first is a failure; later it is opened again and again, and each
        loss is told once as an event named `disconnected`, each return as `connected`."""
        while True:
            try:
                async with aclosing(self._connection()) as connection:
                    async for event in connection:
                        self._pause = self._first
                        yield event
                reason = "the stream ended"
            except (httpx.HTTPError, SSEError, _Away) as fault:
                if self.opened_at is None:
                    raise unreachable(self._client.url, fault) from fault
                reason = type(fault).__name__
            if self._connected:
                self._connected = False
                yield FeedEvent("", "disconnected", {"reason": reason, "cursor": self._cursor})
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, _PAUSE_MOST)

    async def _connection(self) -> AsyncGenerator[FeedEvent, None]:
        headers = {"last-event-id": self._cursor} if self._cursor else {}
        async with aconnect_sse(self._client.http, "GET", self._path, headers=headers, timeout=_TIMEOUT) as source:
            response = source.response
            if response.status_code in _AWAY:
                raise _Away(str(response.status_code))
            if response.status_code != 200:
                await response.aread()
                raise failure(response)
            if self.opened_at is not None:
                yield FeedEvent("", "connected", {"cursor": self._cursor})
            self.opened_at = self.opened_at or _time_of(response)
            self._connected = True
            async for sse in source.aiter_sse():
                if sse.retry is not None:
                    self._first = min(sse.retry / 1000, _PAUSE_MOST)
                if not sse.data:
                    continue
                event = FeedEvent(sse.id, sse.event, _object(sse.data))
                self._cursor = sse.id or self._cursor
                if self._is_new(event):
                    yield event

    def _is_new(self, event: FeedEvent) -> bool:
        """After a reset the server replays; what was shown already is not shown again."""
        event_id = event.data.get("event_id")
        if not event_id:
            return True
        if event_id in self._seen:
            return False
        self._seen.append(event_id)
        return True


class _Away(Exception):
    """The gateway says that it cannot serve the stream now."""


def _time_of(response: httpx.Response) -> datetime:
    try:
        return parsedate_to_datetime(response.headers["date"])
    except (KeyError, ValueError):
        return datetime.now(UTC)


def _object(data: str) -> dict[str, Any]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise CommandFailed(Exit.FAULT, "the stream sent something that is no JSON") from None
    return value if isinstance(value, dict) else {"value": value}
