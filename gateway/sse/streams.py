"""All streams that the gateway watches, by what is watched and by whom: a hub each, made for its first reader."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from gateway.sse.upstream import Upstream
from services.kernel.frames import sse
from services.kernel.hub import HubLimits, Reader, ReaderLimits
from services.kernel.hubs import Hubs
from services.kernel.principal import Principal

_LAG = ReaderLimits(frames=4_000, bytes=3 * 1024 * 1024)
"""How far a browser may fall behind: nearly the whole ring, since it costs no memory (a reader is a place in it)."""

Scope = tuple[str, str, frozenset[str], str]
Call = Callable[..., Any]


@dataclass(frozen=True)
class Watch:
    """What is watched: RPC, request without its cursor, and on whose behalf. Callers with equal rights share it."""

    rpc: str
    request: bytes
    scope: Scope


def scope_of(principal: Principal) -> Scope:
    """Whose rights a subscription carries. An agent's token may be bound to one session, so it shares with nobody."""
    own = principal.subject if principal.kind == "agent" else ""
    return principal.tenant, principal.kind, principal.roles, own


class Streams:
    """The hubs, and the RPCs that feed them."""

    def __init__(self, keepalive_seconds: float, linger_seconds: float) -> None:
        self._calls: dict[str, tuple[Call, type[Message]]] = {}
        self._first_cursor = ""
        limits = HubLimits(reader=_LAG, idle=keepalive_seconds)
        self.hubs: Hubs[Watch] = Hubs(self._source, sse, limits, linger_seconds)

    def register(self, rpc: str, call: Call, request: type[Message]) -> None:
        """Names the callable of a streaming RPC; its request has `last_event_id`."""
        self._calls[rpc] = call, request

    @asynccontextmanager
    async def reader(self, watch: Watch, cursor: str) -> AsyncIterator[Reader]:
        """A reader of a stream, after the cursor."""
        self._first_cursor = cursor  # for _source, which is called before anything is awaited, or not at all
        async with self.hubs.reader(watch, cursor) as reader:
            yield reader

    async def accepted(self, watch: Watch, seconds: float) -> None:
        """Waits until the service has taken the subscription; see Upstream.accepted. Only while a reader is there."""
        source = self.hubs.source(watch)
        if isinstance(source, Upstream):
            await source.accepted(seconds)

    def _source(self, watch: Watch) -> Upstream:
        call, kind = self._calls[watch.rpc]

        def subscribe(cursor: str) -> Any:
            request: Any = kind.FromString(watch.request)
            request.last_event_id = cursor
            return call(request)

        return Upstream(subscribe, self._first_cursor, lambda: self.hubs.drop(watch, "source"))
