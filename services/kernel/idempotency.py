"""Idempotency keys inside the unit of work: the key is inserted first, so that two at once cannot both run (PUB08)."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta
from typing import Final, NamedTuple

from sqlalchemy import Column, DateTime, LargeBinary, MetaData, Table, Text, bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from services.kernel.clock import Clock
from services.kernel.errors import AlreadyExists, Invalid
from services.kernel.postgres import Database, Tx, compiled
from services.kernel.principal import Principal
from services.kernel.request import REQUEST_ID

ANSWER_MOST: Final = 64 * 1024
"""Largest stored answer in bytes; a larger one is stored by reference (the caller stores the resource's name)."""
KEPT: Final = timedelta(hours=48)
"""How long answers are kept; at least 24 h are promised (design/architecture.md)."""

_TABLE: Final = Table(
    "idempotency",
    MetaData(),
    Column("tenant", Text, primary_key=True),
    Column("principal", Text, primary_key=True),
    Column("method", Text, primary_key=True),
    Column("request_id", Text, primary_key=True),
    Column("digest", LargeBinary),
    Column("answer", LargeBinary),
    Column("created_at", DateTime(timezone=True)),
)
_t = _TABLE.c
_MINE = (
    (_t.tenant == bindparam("tenant"))
    & (_t.principal == bindparam("principal"))
    & (_t.method == bindparam("method"))
    & (_t.request_id == bindparam("request_id"))
)
_INSERT = compiled(
    insert(_TABLE)
    .values(
        tenant=bindparam("tenant"),
        principal=bindparam("principal"),
        method=bindparam("method"),
        request_id=bindparam("request_id"),
        digest=bindparam("digest"),
    )
    .on_conflict_do_nothing()
    .returning(_t.request_id)
)
_FIND = compiled(select(_t.digest, _t.answer).where(_MINE))
_STORE = compiled(update(_TABLE).where(_MINE).values(answer=bindparam("the_answer")))
_PURGE = compiled(delete(_TABLE).where(_t.created_at < bindparam("before")))


class Key(NamedTuple):
    """Who asked for what under which id."""

    tenant: str
    principal: str
    method: str
    request_id: str


def key_for(principal: Principal, method: str, request_id: str) -> Key | None:
    """The key of a call; None when the caller gave no request_id. Invalid when it is malformed."""
    if not request_id:
        return None
    if REQUEST_ID.fullmatch(request_id) is None:
        raise Invalid(
            "INVALID_REQUEST_ID",
            "request_id must be 1..128 characters of A-Z a-z 0-9 _ . : -",
            field="request_id",
        )
    return Key(principal.tenant, f"{principal.kind}:{principal.subject}", method, request_id)


def body_digest(body: bytes) -> bytes:
    """SHA-256 of the request (deterministically serialised)."""
    return hashlib.sha256(body).digest()


async def remember(tx: Tx, key: Key | None, digest: bytes) -> bytes | None:
    """First statement of a command. None: run it, then store(). Bytes: answer these. AlreadyExists: the id was used
    with another body. A concurrent holder of the key is waited for (lock timeout: Conflict)."""
    if key is None or await tx.fetchval(_INSERT, **key._asdict(), digest=digest) is not None:
        return None
    row = await tx.fetchrow(_FIND, **key._asdict())
    if row is None or row["digest"] != digest:
        raise AlreadyExists(
            "REQUEST_ID_REUSED",
            "request_id was used with another body: use a new one for a new request",
            field="request_id",
        )
    return bytes(row["answer"] or b"")


async def store(tx: Tx, key: Key | None, answer: bytes) -> None:
    """Last statement of a command: keeps the answer (at most ANSWER_MOST bytes) for repeats of the key."""
    if key is None:
        return
    assert len(answer) <= ANSWER_MOST, "larger answers are stored by reference"
    await tx.execute(_STORE, **key._asdict(), the_answer=answer)


async def purge_forever(database: Database, clock: Clock, every: timedelta) -> None:
    """A background duty: forgets keys older than KEPT."""
    while True:
        async with database.connection() as tx:
            await tx.execute(_PURGE, before=clock.now() - KEPT)
        await asyncio.sleep(every.total_seconds())
