"""The stream of domain facts, followed by one consumer a replica; shared by all feeds (S.4).

The consumer is ours to make anew, from last+1, whenever its sequence breaks, its heartbeat stops or the connection
was lost: an ordered consumer of the client library was seen to stay silent for 15 seconds.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import orjson
from nats.aio.msg import Msg

from services.kernel import jetstream, streams
from services.kernel.bus import Bus
from services.kernel.cursors import Position
from services.kernel.errors import Refusal
from services.kernel.frames import Frame
from services.kernel.hub import Hub
from services.kernel.ids import is_id, new_id
from services.kernel.relay import EVENT_ID
from services.kernel.streams import DOMAIN
from services.kernel.telemetry import get_logger
from services.streaming.application.ports import FeedKey
from services.streaming.domain.facts import Told, told

_HEARTBEAT = 2.0
_REMEMBERED = 20_000
_log = get_logger("streaming.domain_feed")


class Fact(NamedTuple):
    """A message of DOMAIN that a feed tells of. `scope`: the root thread, or the coordinator's session."""

    tenant: str
    scope: str
    told: Told


class DomainFeed:
    """`run` it once a replica; feeds watch it."""

    def __init__(self, bus: Bus, ensure: Callable[[], Awaitable[streams.StreamState]]) -> None:
        self._bus = bus
        self._ensure = ensure
        self._hubs: dict[FeedKey, Hub] = {}
        self._fresh: dict[FeedKey, list[Frame]] = {}
        self._scheduled = False
        self._seen = Remembered(_REMEMBERED)
        self._scopes: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._running = asyncio.Event()
        self._broken = asyncio.Event()
        self._delivered = 0
        self._heard = 0.0
        self.position = Position(0, 0)
        """Everything up to here was given to the feeds."""

    async def run(self) -> None:
        """Follows DOMAIN until cancelled; a break is repaired here."""
        with self._bus.on_reconnect(self._broken.set):
            while True:
                try:
                    await self._follow()
                except (Refusal, jetstream.Refused) as fault:
                    _log.warning("domain_feed.waits", fault=str(fault))
                    await asyncio.sleep(0.2)

    async def watch(self, key: FeedKey, hub: Hub) -> None:
        """The hub gets what belongs to the key from now on."""
        await self._running.wait()
        hub.prime(self.position, complete=False)
        self._hubs[key] = hub
        hub.ready()

    def unwatch(self, key: FeedKey) -> None:
        """The hub gets nothing more."""
        self._hubs.pop(key, None)

    def scope_of(self, tenant: str, of: str) -> str | None:
        """Where the facts of a feed stand: a session is its own scope, a thread's is the root of its family, where a
        fact told it lately."""
        return of if is_id("ses", of) else self._scopes.get((tenant, of))

    async def _follow(self) -> None:
        self._broken.clear()
        state = await self._ensure()
        if state.epoch != self.position.generation or state.last_seq < self.position.n:
            self._begin(state)
        inbox = f"_INBOX.{new_id('feed')}"
        self._delivered = 0
        self._heard = asyncio.get_running_loop().time()
        subscription = await self._bus.subscribe(inbox, self._message)
        try:
            await self._consume(inbox)
            self._running.set()
            while not self._broken.is_set():
                try:
                    async with asyncio.timeout(_HEARTBEAT):
                        await self._broken.wait()
                except TimeoutError:
                    if asyncio.get_running_loop().time() - self._heard > 2 * _HEARTBEAT:
                        self._broken.set()
        finally:
            await self._bus.unsubscribe(subscription)

    def _begin(self, state: streams.StreamState) -> None:
        """Another stream than before. At the first time it is taken up at its end: feeds read older facts from it."""
        anew = self.position.generation not in (0, state.epoch)
        self._seen.clear()
        self.position = Position(state.epoch, 0 if anew else state.last_seq)
        for hub in self._hubs.values():
            hub.restart(self.position, complete=False)

    async def _consume(self, inbox: str) -> None:
        config = {
            "deliver_subject": inbox,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self.position.n + 1,
            "ack_policy": "none",
            "filter_subject": "domain.>",
            "idle_heartbeat": int(_HEARTBEAT * 1e9),
            "flow_control": True,
            "inactive_threshold": int(10 * 1e9),
            "mem_storage": True,
            "num_replicas": 1,
        }
        await jetstream.api(self._bus, f"CONSUMER.CREATE.{DOMAIN}", {"stream_name": DOMAIN, "config": config})

    async def _message(self, message: Msg) -> None:
        self._heard = asyncio.get_running_loop().time()
        headers = message.headers or {}
        if "Status" in headers:
            await self._control(message, headers)
            return
        seq, delivered = _sequences(message.reply)
        if delivered != self._delivered + 1:
            self._broken.set()
        if self._broken.is_set():
            return
        self._delivered = delivered
        self.position = Position(self.position.generation, seq)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._publish)
        fact = fact_of(message.subject, message.data)
        if fact is not None and self._seen.add(headers.get(EVENT_ID, "")):
            self._give(fact, seq)

    async def _control(self, message: Msg, headers: dict[str, str]) -> None:
        stalled = headers.get("Nats-Consumer-Stalled")
        for reply in filter(None, (message.reply, stalled)):
            await self._bus.publish(reply)
        if headers["Status"] not in ("100",):
            self._broken.set()
        elif int(headers.get("Nats-Last-Consumer", self._delivered)) != self._delivered:
            self._broken.set()  # something was sent that never came

    def _give(self, fact: Fact, seq: int) -> None:
        for feed in fact.told.feeds:
            self._scopes[fact.tenant, feed] = fact.scope
        while len(self._scopes) > _REMEMBERED:
            self._scopes.popitem(last=False)
        frame = Frame(str(Position(self.position.generation, seq)), fact.told.event, fact.told.line)
        keys = [FeedKey(fact.tenant, None), *(FeedKey(fact.tenant, feed) for feed in fact.told.feeds)]
        for key in keys:
            if key in self._hubs:
                self._fresh.setdefault(key, []).append(frame)

    def _publish(self) -> None:
        self._scheduled = False
        fresh, self._fresh = self._fresh, {}
        for key, given in fresh.items():
            hub = self._hubs.get(key)
            if hub is not None:
                hub.publish(given)
        for hub in self._hubs.values():
            hub.advance(self.position.n)


class Remembered:
    """The newest event ids, to drop a repeated one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._ids: OrderedDict[str, None] = OrderedDict()

    def add(self, event_id: str) -> bool:
        """Whether it is new. An empty id always is."""
        if not event_id:
            return True
        if event_id in self._ids:
            return False
        self._ids[event_id] = None
        if len(self._ids) > self._most:
            self._ids.popitem(last=False)
        return True

    def clear(self) -> None:
        """Forgets all."""
        self._ids.clear()


def fact_of(subject: str, data: bytes) -> Fact | None:
    """What a message tells the feeds; None for a relay's marker and for types that no feed tells of."""
    tokens = subject.split(".")
    if len(tokens) != 5:
        return None
    _, tenant, scope, _, type_ = tokens
    try:
        payload = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    said = told(type_, payload) if isinstance(payload, dict) else None
    return None if said is None else Fact(tenant, scope, said)


def _sequences(reply: str) -> tuple[int, int]:
    """(stream sequence, consumer sequence) of
    `$JS.ACK.<stream>.<consumer>.<tries>.<stream>.<consumer>.<time>.<left>`; a domain and an account hash may stand in
    front of the stream's name."""
    tokens = reply.split(".")
    at = 5 if len(tokens) == 9 else 7
    return int(tokens[at]), int(tokens[at + 1])
