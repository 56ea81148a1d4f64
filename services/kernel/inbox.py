"""The inbox: facts of other services, each taken into effect exactly once here (design/architecture.md, How facts
travel 1).

A durable JetStream pull consumer of DOMAIN, shared by the replicas of a service; its pulls are ours, since a client
library's were seen to stay silent. Knows no fact's meaning: the handler's transaction is the effect.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import orjson
from nats.aio.msg import Msg
from sqlalchemy import Column, DateTime, Interval, MetaData, Table, Text, bindparam, delete, func
from sqlalchemy.dialects.postgresql import insert

from services.kernel import jetstream, telemetry
from services.kernel.bus import Bus
from services.kernel.errors import Conflict, Unavailable
from services.kernel.ids import new_id
from services.kernel.postgres import Database, Tx, compiled
from services.kernel.relay import EVENT_ID
from services.kernel.streams import DOMAIN

KEPT: Final = timedelta(days=14)
"""How long event ids are remembered; facts can be sent again for seven days (kernel/relay.py)."""
_BATCH: Final = 16
_HEARTBEAT: Final = 1.0
_SILENT: Final = 2.5
_EXPIRES: Final = 10.0
_ACK_WAIT: Final = 5.0
"""Seconds after which a fact whose replica went away is given to another one."""
_UNACKED: Final = 20_000
"""Facts that may be under way or put off at once: only so many faulty ones could hold up the others."""
_AWAY_PAUSE: Final = 0.5
_REST: Final = 0.05
_FAULT_PAUSES: Final = (0.5, 2.0, 10.0, 60.0, 300.0)
"""Seconds until a fact whose handling failed is tried again; the last one from then on."""
_FAULTS_KEPT: Final = 1_000
_PURGE_EVERY: Final = 600.0
_NS: Final = 1_000_000_000
_log = telemetry.get_logger("inbox")

_INBOX: Final = Table(
    "inbox",
    MetaData(),
    Column("consumer", Text, primary_key=True),
    Column("event_id", Text, primary_key=True),
    Column("seen_at", DateTime(timezone=True)),
)
_i = _INBOX.c
_TAKE = compiled(
    insert(_INBOX)
    .values(consumer=bindparam("consumer"), event_id=bindparam("event_id"))
    .on_conflict_do_nothing()
    .returning(_i.event_id)
)
_PURGE = compiled(delete(_INBOX).where(_i.seen_at < func.now() - bindparam("kept", type_=Interval)))


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as its service published it: the tokens of its subject, and its payload."""

    tenant: str
    scope: str
    service: str
    type: str
    event_id: str
    payload: dict[str, Any]


class Inbox:
    """`run` it as a supervised duty, one or more a service. `consumer`: the name of the durable consumer, one token,
    the same in every replica; a new one begins with everything that is stored. `subjects`: filters
    `domain.{tenant}.{scope}.{service}.{type}`, which must not overlap.

    `handle` runs in the transaction that remembers the event; it makes no calls. Facts of one replica come one after
    another; over replicas and retries their order is not promised. `after` is awaited after each commit. A fact whose
    handling fails is tried again with growing pauses, for as long as DOMAIN keeps it, and does not hold up others.
    """

    def __init__(
        self,
        database: Database,
        bus: Bus,
        consumer: str,
        subjects: Sequence[str],
        handle: Callable[[Tx, Fact], Awaitable[None]],
        after: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._database = database
        self._bus = bus
        self._consumer = consumer
        self._subjects = list(subjects)
        self._handle = handle
        self._after = after
        self._faults: OrderedDict[str, int] = OrderedDict()
        self._waits = ""
        self._purge_at = 0.0

    async def run(self) -> None:
        """Takes facts until cancelled; a broken stream, bus or database is waited for here."""
        while True:
            try:
                await self._follow()
                await asyncio.sleep(_REST)
            except (Unavailable, jetstream.Refused) as fault:
                self._wait_for(str(fault))
                await asyncio.sleep(_AWAY_PAUSE)

    async def _follow(self) -> None:
        """One consumer over one connection, until either is gone."""
        came: asyncio.Queue[Msg | None] = asyncio.Queue()

        async def message(one: Msg) -> None:
            came.put_nowait(one)

        reply = f"_INBOX.{new_id('inbox')}"
        with self._bus.on_reconnect(lambda: came.put_nowait(None)):
            subscription = await self._bus.subscribe(reply, message)
            try:
                await self._ensure()
                await self._purge()
                while await self._pull(reply, came):
                    await self._purge()
            finally:
                await self._bus.unsubscribe(subscription)

    async def _ensure(self) -> None:
        """Makes the consumer where it is missing. Refused (STREAM_NOT_FOUND) while there is no stream."""
        config = {
            "name": self._consumer,
            "durable_name": self._consumer,
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "ack_wait": int(_ACK_WAIT * _NS),
            "max_deliver": -1,
            "max_ack_pending": _UNACKED,
            "filter_subjects": self._subjects,
        }
        verb = f"CONSUMER.CREATE.{DOMAIN}.{self._consumer}"
        await jetstream.api(self._bus, verb, {"stream_name": DOMAIN, "config": config})

    async def _pull(self, reply: str, came: asyncio.Queue[Msg | None]) -> bool:
        """Asks for facts and handles what comes. False: the consumer must be looked at again."""
        ask = {"batch": _BATCH, "expires": int(_EXPIRES * _NS), "idle_heartbeat": int(_HEARTBEAT * _NS)}
        await self._bus.publish(f"$JS.API.CONSUMER.MSG.NEXT.{DOMAIN}.{self._consumer}", orjson.dumps(ask), reply=reply)
        left = _BATCH
        while left:
            try:
                async with asyncio.timeout(_SILENT):
                    message = await came.get()
            except TimeoutError:
                return False
            if message is None:
                return False
            match (message.headers or {}).get("Status") if not message.reply else None:
                case None:
                    left -= 1
                    await self._take(message)
                case "100":
                    self._healthy()
                case "408":
                    return True  # expired without as many as were asked for
                case _:
                    return False
        return True

    async def _take(self, message: Msg) -> None:
        fact = fact_of(message)
        if fact is None:
            _log.error("inbox.unreadable", consumer=self._consumer, subject=message.subject)
            await self._answer(message, b"+TERM")
            return
        try:
            fresh = await self._take_in(fact)
        except Conflict as refusal:
            _log.info("inbox.contended", consumer=self._consumer, fact=fact.event_id, reason=refusal.reason)
            await self._answer(message, _again(_AWAY_PAUSE))
            return
        except Exception:
            await self._answer(message, _again(self._failed(fact)))
            return
        self._healthy()
        self._faults.pop(fact.event_id, None)
        if fresh and self._after is not None:
            await self._after()
        await self._answer(message, b"+ACK")

    async def _take_in(self, fact: Fact) -> bool:
        """One transaction; whether the fact is new. While the database is away nothing can be taken in: it is waited
        for here, so that no fact loses its place."""
        while True:
            try:
                async with self._database.transaction() as tx:
                    fresh = await tx.fetchval(_TAKE, consumer=self._consumer, event_id=fact.event_id) is not None
                    if fresh:
                        await self._handle(tx, fact)
                return fresh
            except Unavailable as refusal:
                self._wait_for(str(refusal))
                await asyncio.sleep(_AWAY_PAUSE)

    def _failed(self, fact: Fact) -> float:
        """Tells of it; answers the seconds until it is tried again."""
        times = self._faults.pop(fact.event_id, 0)
        self._faults[fact.event_id] = times + 1
        while len(self._faults) > _FAULTS_KEPT:
            self._faults.popitem(last=False)
        pause = _FAULT_PAUSES[min(times, len(_FAULT_PAUSES) - 1)]
        telemetry.DUTY_FAILURES.labels(f"inbox.{self._consumer}").inc()
        _log.exception(
            "inbox.failed",
            consumer=self._consumer,
            fact=fact.event_id,
            type=f"{fact.service}.{fact.type}",
            times=times + 1,
            again_in=pause,
        )
        return pause

    async def _answer(self, message: Msg, verdict: bytes) -> None:
        """A verdict that is lost makes the fact come again, which changes nothing."""
        try:
            await self._bus.publish(message.reply, verdict)
        except Unavailable:
            return

    async def _purge(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._purge_at:
            self._purge_at = now + _PURGE_EVERY
            async with self._database.connection() as tx:
                await tx.execute(_PURGE, kept=KEPT)

    def _wait_for(self, fault: str) -> None:
        if self._waits != fault:
            self._waits = fault
            _log.warning("inbox.waits", consumer=self._consumer, fault=fault)

    def _healthy(self) -> None:
        if self._waits:
            self._waits = ""
            _log.info("inbox.goes_on", consumer=self._consumer)


def fact_of(message: Msg) -> Fact | None:
    """The fact in a message of DOMAIN; None where it is none."""
    tokens = message.subject.split(".")
    event_id = (message.headers or {}).get(EVENT_ID, "")
    if len(tokens) != 5 or not event_id:
        return None
    try:
        payload = orjson.loads(message.data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(payload, dict):
        return None
    return Fact(tokens[1], tokens[2], tokens[3], tokens[4], event_id, payload)


def subject_of(service: str, type: str) -> str:
    """The filter of all tenants' facts of one type."""
    return f"domain.*.*.{service}.{type}"


def _again(seconds: float) -> bytes:
    return b"-NAK " + orjson.dumps({"delay": int(seconds * _NS)})
