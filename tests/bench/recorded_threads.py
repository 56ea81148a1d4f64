"""What threads' own handlers run on the database, call by call: the raw limit's statements."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

import grpc

from services.kernel.clock import SystemClock
from services.kernel.grpc_server import GrpcServer
from services.kernel.ids import new_id
from services.kernel.principal import Authenticator
from services.threads.adapters.reader import PostgresReader
from services.threads.adapters.schemas import JsonSchemas
from services.threads.adapters.work import PostgresStore
from services.threads.application.batches import Batches
from services.threads.application.commands import Commands
from services.threads.application.families import Families
from services.threads.application.queries import Queries
from services.threads.settings import ThreadsSettings
from services.threads.transport.threads import ThreadServicer
from tests.bench.recording import Steps, recording_database
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceStub, add_ThreadServiceServicer_to_server

Request = pb.CreateThreadRequest | pb.AcceptThreadRequest | pb.RejectThreadRequest


class NotOneTransactionEach(Exception):
    """A call was not exactly one transaction: what is replayed would not be what is measured."""


class _NobodyToWake:
    async def committed(self, *, jobs: bool) -> None:
        """Nobody listens."""

    async def wait_for_jobs(self, seconds: float) -> None:
        """Nobody asks."""


async def recorded(url: str, calls: Sequence[tuple[str, Request]]) -> list[Steps]:
    """Runs the calls one after the other on the database, with handlers as `services.threads.main` builds them;
    answers the transaction of each."""
    settings, clock = ThreadsSettings(threads_database_url=url), SystemClock()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(recording_database(url))
        store = PostgresStore(database, new_id, settings.timing().lease)
        commands = Commands(store, _NobodyToWake(), clock, new_id, JsonSchemas(), settings.timing())
        families = Families(store, _NobodyToWake(), commands, settings.timing())
        queries = Queries(PostgresReader(database), clock)
        servicer = ThreadServicer(
            commands, queries, Batches(store), families, settings.page_signing_key(), clock, new_id
        )
        server = GrpcServer(
            "recording",
            "127.0.0.1:0",
            [(add_ThreadServiceServicer_to_server, servicer, "treadle.threads.v1.ThreadService")],
            Authenticator(None, clock),
        )
        address = await server.start()
        stack.push_async_callback(server.stop, 1)
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(address))
        stub = ThreadServiceStub(channel)
        for rpc, request in calls:
            await getattr(stub, rpc)(request)
    transactions = database.recording.transactions
    if len(transactions) != len(calls):
        raise NotOneTransactionEach(f"{len(transactions)} transactions of {len(calls)} calls")
    return transactions
