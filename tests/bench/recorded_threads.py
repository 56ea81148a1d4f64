"""What the threads service runs on its database, call by call: the raw limit's statements.

The service itself is built here, by its own `build`, and its statements are read off its connections by asyncpg's
query log. It has no background duties meanwhile, so that whatever is logged belongs to the call under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg
import grpc

from services.kernel.lifecycle import AsyncFn, Lifecycle
from services.kernel.postgres import Database
from services.kernel.settings import load
from services.threads.main import build
from services.threads.settings import ThreadsSettings
from tests.bench.recording import QueryLog, Steps
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceStub

Request = pb.CreateThreadRequest | pb.AcceptThreadRequest | pb.RejectThreadRequest
_CONNECTIONS = 2
"""The fewest that the settings allow. Calls come one by one, so that one would do."""


class NotOneTransactionEach(Exception):
    """A call was not exactly one transaction: what is replayed would not be what is measured."""


class _WithoutDuties(Lifecycle):
    """Notes the database by its clean-up; spawns nothing."""

    database: Database | None = None

    def push(self, cleanup: AsyncFn) -> None:
        owner = getattr(cleanup, "__self__", None)
        if isinstance(owner, Database):
            self.database = owner
        super().push(cleanup)

    def spawn(self, duty: str, run: AsyncFn) -> None:
        return None


async def recorded(url: str, nats_url: str, calls: Sequence[tuple[str, Request]]) -> list[Steps]:
    """Runs the calls one after the other; answers the transaction of each."""
    settings = load(
        ThreadsSettings,
        listen="127.0.0.1:0",
        threads_database_url=url,
        nats_url=nats_url,
        pool_min=_CONNECTIONS,
        pool_max=_CONNECTIONS,
    )
    log = QueryLog()
    async with _WithoutDuties("recording", 5) as life:
        bound = await build(settings, life)
        assert life.database is not None, "the service no longer pushes its database's close: find it another way"
        await _watch(life.database, log)
        async with grpc.aio.insecure_channel(bound.address) as channel:
            stub = ThreadServiceStub(channel)
            for rpc, request in calls:
                await getattr(stub, rpc)(request)
    if len(log.transactions) != len(calls):
        raise NotOneTransactionEach(f"{len(log.transactions)} transactions of {len(calls)} calls")
    return log.transactions


async def _watch(database: Database, log: QueryLog) -> None:
    async with database.connection() as one, database.connection() as other:
        for tx in (one, other):
            connection: asyncpg.Connection[Any] = tx.raw  # type: ignore[assignment]  # the pool's proxy passes it on
            connection.add_query_logger(log.logged)
