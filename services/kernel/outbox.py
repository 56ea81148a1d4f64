"""The outbox: facts written in the transaction that made them true; `kernel/relay.py` carries them to DOMAIN.

Subject: `domain.{tenant}.{scope}.{service}.{type}`; the scope is what a feed filters by (a family's root thread, a
coordinator's session). Insert after the aggregate's row lock, so that order of ids is order of commits inside it.
"""

from __future__ import annotations

from typing import Any, Final

import orjson
from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Identity,
    Insert,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    insert,
)

from services.kernel.bus import token
from services.kernel.errors import TooLarge
from services.kernel.postgres import Tx, compiled

PAYLOAD_MOST: Final = 64 * 1024
"""Largest payload in bytes of JSON."""

OUTBOX: Final = Table(
    "outbox",
    MetaData(),
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant", Text),
    Column("scope", Text),
    Column("service", Text),
    Column("type", Text),
    Column("event_id", Text),
    Column("payload", LargeBinary),
    Column("created_at", DateTime(timezone=True)),
    Column("sent_seq", BigInteger),
)


def insertion(prefix: str = "") -> Insert:
    """The insert of one fact, to be compiled with what else a statement writes; each key of `enqueued`, with the
    prefix before it, is an argument."""
    names = ("tenant", "scope", "service", "type", "event_id", "payload")
    return insert(OUTBOX).values({name: bindparam(f"{prefix}{name}") for name in names})


_INSERT = compiled(insertion())


async def enqueue(
    tx: Tx, *, tenant: str, scope: str, service: str, type: str, event_id: str, payload: dict[str, Any]
) -> None:
    """Writes one fact. After the commit, `await bus.ping(wake_subject(service))`.

    TooLarge over 64 KiB; Invalid when tenant, scope, service or type is not one token of a subject.
    """
    row = enqueued(tenant=tenant, scope=scope, service=service, type=type, event_id=event_id, payload=payload)
    await tx.execute(_INSERT, **row)


async def enqueue_many(tx: Tx, rows: list[dict[str, Any]]) -> None:
    """Writes several facts in this order, pipelined; each row is what `enqueued` made."""
    await tx.executemany(_INSERT, rows)


def enqueued(
    *, tenant: str, scope: str, service: str, type: str, event_id: str, payload: dict[str, Any]
) -> dict[str, Any]:
    """A row for `enqueue_many`; refuses as `enqueue` does."""
    data = orjson.dumps(payload)
    if len(data) > PAYLOAD_MOST:
        raise TooLarge("FACT_TOO_LARGE", f"a fact's payload may have {PAYLOAD_MOST} bytes", limit=PAYLOAD_MOST)
    for text in (tenant, scope, service, type):
        token(text)
    return {
        "tenant": tenant,
        "scope": scope,
        "service": service,
        "type": type,
        "event_id": event_id,
        "payload": data,
    }


def wake_subject(service: str) -> str:
    """What to ping after a commit that wrote to the outbox."""
    return f"wake.outbox.{service}"
