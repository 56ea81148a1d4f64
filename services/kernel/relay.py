"""The relay: carries outbox rows to the stream DOMAIN, each exactly once (design/architecture.md, How facts travel
1).

Any number of replicas run it; whoever holds the row of `relay` leads for one turn. Nothing is assumed of an answer
that did not come: what was stored is read back from the marker that every batch begins with.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

import orjson
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    Interval,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from services.kernel import jetstream, streams, telemetry
from services.kernel.bus import Bus
from services.kernel.errors import Unavailable
from services.kernel.jetstream import EXPECT_SUBJECT, Draft, Refused
from services.kernel.outbox import OUTBOX, wake_subject
from services.kernel.postgres import Database, Row, Tx, compiled

EVENT_ID: Final = "Treadle-Event"
"""Header of every fact: what consumers de-duplicate by, in the transaction of their effect."""
_ROWS: Final = 200
_BYTES: Final = 4 * 1024 * 1024
_POLL: Final = 1.0
_PACE: Final = 0.02
"""Seconds between two turns that were not full: a turn costs two transactions' worth of round trips and a batch."""
_KEPT: Final = timedelta(days=7)
_PURGE_EVERY: Final = 600.0
_log = telemetry.get_logger("relay")

_RELAY: Final = Table(
    "relay",
    MetaData(),
    Column("service", Text, primary_key=True),
    Column("last_seq", BigInteger),
    Column("epoch", BigInteger),
)
_o, _r = OUTBOX.c, _RELAY.c
_MINE = _r.service == bindparam("of_service")
_FOUND = compiled(insert(_RELAY).values(service=bindparam("of_service"), last_seq=0, epoch=0).on_conflict_do_nothing())
_LEAD = compiled(select(_r.last_seq, _r.epoch).where(_MINE).with_for_update(skip_locked=True))
_ADVANCE = compiled(update(_RELAY).where(_MINE).values(last_seq=bindparam("to_seq")))
_RENEW = compiled(update(_RELAY).where(_MINE).values(last_seq=0, epoch=bindparam("to_epoch")))
_UNSENT = compiled(
    select(_o.id, _o.tenant, _o.scope, _o.service, _o.type, _o.event_id, _o.payload)
    .where(_o.sent_seq.is_(None))
    .order_by(_o.id)
    .limit(_ROWS)
)
_pairs = select(
    func.unnest(bindparam("ids", type_=ARRAY(BigInteger))).label("id"),
    func.unnest(bindparam("seqs", type_=ARRAY(BigInteger))).label("seq"),
).subquery()
_MARK = compiled(update(OUTBOX).where(_o.id == _pairs.c.id, _o.sent_seq.is_(None)).values(sent_seq=_pairs.c.seq))
_RESEND = compiled(update(OUTBOX).where(_o.sent_seq.is_not(None)).values(sent_seq=None))
_PURGE = compiled(
    delete(OUTBOX).where(_o.sent_seq.is_not(None), _o.created_at < func.now() - bindparam("kept", type_=Interval))
)


class Relay:
    """Run it as a supervised duty, one or more a service."""

    def __init__(self, database: Database, bus: Bus, service: str, *, poll: float = _POLL) -> None:
        self._database = database
        self._bus = bus
        self._service = service
        self._poll = poll
        self._marker = f"domain.relay.{service}"
        self._purge_at = 0.0

    async def run(self) -> None:
        """Relays until cancelled; woken by pings on `wake_subject`, and polling besides."""
        async with self._database.transaction() as tx:
            await tx.execute(_FOUND, of_service=self._service)
        async with self._bus.listen(wake_subject(self._service)) as bell:
            while True:
                try:
                    sent = await self.turn()
                except Unavailable as refusal:
                    _log.warning("relay.waits", service=self._service, reason=refusal.reason)
                    sent = 0
                if sent == 0:
                    await bell.wait(self._poll)
                elif sent < _ROWS:
                    # The first fact after a silence goes out at once; under load the next ones travel together.
                    await asyncio.sleep(_PACE)

    async def turn(self) -> int:
        """One turn of leadership: at most one batch. Answers how many rows were found sent or were sent; 0 when there
        is nothing to do or another replica leads."""
        async with self._database.transaction() as tx:
            lead = await tx.fetchrow(_LEAD, of_service=self._service)
            if lead is None:
                return 0
            rows = _within_bytes(await tx.fetch(_UNSENT))
            telemetry.OUTBOX_PENDING.labels(self._service).set(len(rows))
            if rows:
                return await self._send(tx, rows, lead["last_seq"], lead["epoch"])
            await self._idle(tx, lead["epoch"])
            return 0

    async def _send(self, tx: Tx, rows: list[Row], last_seq: int, epoch: int) -> int:
        ids = [row["id"] for row in rows]
        marker = Draft(self._marker, orjson.dumps({"ids": ids}), {EXPECT_SUBJECT: str(last_seq)})
        facts = [Draft(_subject(row), row["payload"], {EVENT_ID: row["event_id"]}) for row in rows]
        if epoch == 0:
            return await self._recover(tx, last_seq, epoch)
        try:
            end = await jetstream.publish_atomic(self._bus, [marker, *facts])
        except (Refused, Unavailable) as fault:
            if isinstance(fault, Refused) and not fault.out_of_order and fault.code != jetstream.STREAM_NOT_FOUND:
                raise
            return await self._recover(tx, last_seq, epoch)
        await self._record(tx, ids, end - len(rows))
        return len(rows)

    async def _recover(self, tx: Tx, last_seq: int, epoch: int) -> int:
        """After a refusal or no answer: a stream made anew gets everything again; else its markers tell what it
        has."""
        state = await streams.state_of(self._bus, streams.DOMAIN)
        if state is None:
            raise Unavailable("STREAM_MISSING", "the stream of facts is not there yet")
        if state.epoch != epoch:
            return await self._renew(tx, state.epoch)
        found = 0
        while (marker := await jetstream.next_of(self._bus, streams.DOMAIN, self._marker, last_seq + 1)) is not None:
            ids: list[int] = orjson.loads(marker.data)["ids"]
            await self._record(tx, ids, marker.seq)
            last_seq, found = marker.seq, found + len(ids)
        if not found:
            raise Unavailable("BUS_UNAVAILABLE", "a batch of facts was not taken")
        return found

    async def _record(self, tx: Tx, ids: list[int], marker_seq: int) -> None:
        seqs = range(marker_seq + 1, marker_seq + 1 + len(ids))
        await tx.execute(_MARK, ids=ids, seqs=list(seqs))
        await tx.execute(_ADVANCE, of_service=self._service, to_seq=marker_seq)

    async def _renew(self, tx: Tx, epoch: int) -> int:
        resent = await tx.execute(_RESEND)
        await tx.execute(_RENEW, of_service=self._service, to_epoch=epoch)
        _log.info("relay.new_epoch", service=self._service, epoch=epoch, resent=resent)
        return 1  # go on at once

    async def _idle(self, tx: Tx, epoch: int) -> None:
        """Nothing to send: notices a stream that was made anew, and forgets what was sent long ago."""
        now = asyncio.get_running_loop().time()
        if now >= self._purge_at:
            self._purge_at = now + _PURGE_EVERY
            await tx.execute(_PURGE, kept=_KEPT)
        state = await streams.state_of(self._bus, streams.DOMAIN)
        if state is not None and state.epoch != epoch:
            await self._renew(tx, state.epoch)


def _subject(row: Row) -> str:
    return f"domain.{row['tenant']}.{row['scope']}.{row['service']}.{row['type']}"


def _within_bytes(rows: list[Row]) -> list[Row]:
    """The longest head of the rows that one batch may carry; at least one."""
    total = 0
    for index, row in enumerate(rows):
        total += len(row["payload"])
        if total > _BYTES and index:
            return rows[:index]
    return rows
