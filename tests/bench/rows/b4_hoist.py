"""B4: the hoisted card of an umbrella with 1,000 children, against its bare query and encoding.

Bare: one statement for the family on an asyncpg connection, and the same card built and encoded from the rows, with no
service around. The statements of a card are counted apart, on handlers as the service builds them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from time import perf_counter
from typing import Any

import asyncpg
import grpc
import orjson

from services.engines import engines
from services.kernel.clock import SystemClock
from services.kernel.postgres import Database, Row, Statement, Tx
from services.threads.adapters.reader import PostgresReader
from services.threads.application.queries import Queries
from tests.bench.databases import Databases
from tests.bench.deployables import site
from tests.bench.figures import AtMost, Figure, RatioAtLeast
from tests.bench.large_families import made
from tests.bench.workbench import Workbench
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceStub

ROW = "B4"
ABOUT = "hoisted card of 1,000 children, against its bare query and encoding"
_CHILDREN = 1_000
_GET = "/treadle.threads.v1.ThreadService/GetThread"
_QUERY = "SELECT id, state, ordinal, doc FROM threads WHERE tenant = $1 AND root_id = $2 AND parent_id IS NOT NULL"


async def measure(bench: Workbench) -> list[Figure]:
    """Cards a second, and statements a card."""
    each = bench.load(20, 4)
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(engines(bench.room(ROW) / "engines"))
        url = await Databases(servers).migrated("threads")
        place = await stack.enter_async_context(site(bench.room(ROW), servers.nats_url, bench.profile))
        threads = await place.service("threads", url)
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(threads.address))
        stub = ThreadServiceStub(channel)
        umbrella = await made(stub, _CHILDREN)
        connection = await asyncpg.connect(url)
        stack.push_async_callback(connection.close)
        statements = await _statements(url, umbrella)
        card = await stub.GetThread(pb.GetThreadRequest(name=umbrella))
        assert len(card.actions) == _CHILDREN == len(pb.Thread.FromString(await _bare(connection, umbrella)).actions)

        # the answer's bytes, not decoded: the bare half does not decode what it encodes either
        get_thread: Any = channel.unary_unary(_GET, request_serializer=pb.GetThreadRequest.SerializeToString)

        async def read() -> None:
            await get_thread(pb.GetThreadRequest(name=umbrella))

        async def bare() -> None:
            await _bare(connection, umbrella)

        values, raws = await bench.interleaved(ROW, lambda _: _rate(read, each), lambda _: _rate(bare, each))
    details = {"raw": "one statement, the card built and encoded", "bytes": card.ByteSize()}
    return [
        Figure(ROW, f"hoisted cards/s, {_CHILDREN:,} children", "/s", values, RatioAtLeast(1 / 3), raws, details),
        Figure(ROW, "statements of such a card", "", [float(statements)], AtMost(3)),
    ]


async def _rate(call: Any, count: int) -> float:
    began = perf_counter()
    for _ in range(count):
        await call()
    return count / (perf_counter() - began)


async def _bare(connection: asyncpg.Connection[asyncpg.Record], umbrella: str) -> bytes:
    rows = await connection.fetch(_QUERY, "default", umbrella.removeprefix("threads/"))
    rows.sort(key=lambda row: row["ordinal"])
    return pb.Thread(
        name=umbrella, actions=[_action(row["id"], orjson.loads(row["doc"])) for row in rows]
    ).SerializeToString()


def _action(host: str, doc: dict[str, Any]) -> pb.Action:
    proposal = doc["proposal"]
    content = proposal["content"]
    return pb.Action(
        id=proposal["event_id"],
        proposal_id=proposal["proposal_id"],
        proposal_digest="0" * 64,
        revision=proposal["revision"],
        name=proposal["name"],
        kind=pb.Action.KIND_STANDARD,
        parameters_json=orjson.dumps(content["parameters"]),
        plan_summary=content["plan_summary"],
        rationale=content["rationale"],
        irreversibility=content["irreversibility"],
        regret_potential=content["regret_potential"],
        host_thread_id=host,
        host_title=doc["title"],
        state="pending",
        settled=False,
    )


class _CountingTx(Tx):
    __slots__ = ("_seen",)

    def __init__(self, raw: Any, seen: list[str]) -> None:
        super().__init__(raw)
        self._seen = seen

    async def fetch(self, statement: Statement, **values: Any) -> list[Row]:
        self._seen.append(statement.text)
        return await super().fetch(statement, **values)

    async def fetchrow(self, statement: Statement, **values: Any) -> Row | None:
        self._seen.append(statement.text)
        return await super().fetchrow(statement, **values)

    async def fetchval(self, statement: Statement, **values: Any) -> Any:
        self._seen.append(statement.text)
        return await super().fetchval(statement, **values)


class _CountingDatabase(Database):
    """A Database that notes the statements of reads."""

    seen: list[str]

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Tx]:
        """As Database.connection."""
        async with super().connection() as tx:
            yield _CountingTx(tx.raw, self.seen)


async def _statements(url: str, umbrella: str) -> int:
    database = await _CountingDatabase.open(url, "bench counting")
    assert isinstance(database, _CountingDatabase)
    database.seen = []
    try:
        await Queries(PostgresReader(database), SystemClock()).card("default", umbrella.removeprefix("threads/"))
    finally:
        await database.close()
    return len(database.seen)
