"""Recorded rejections, and the database in the state in which they were about to be made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from tests.bench.databases import Databases
from tests.bench.deployables import site
from tests.bench.population import populate
from tests.bench.recorded_threads import recorded
from tests.bench.recording import Steps
from tests.bench.workbench import Workbench
from treadle.threads.v1 import thread_service_pb2 as pb


@asynccontextmanager
async def recorded_rejections(
    bench: Workbench, row: str, databases: Databases, nats_url: str, count: int
) -> AsyncIterator[tuple[list[Steps], str]]:
    """The transactions of `count` rejections, and the URL of a database on which they can be replayed once."""
    url = await databases.migrated("threads")
    async with site(bench.room(f"{row}-population"), nats_url) as place:
        threads = await place.service("threads", url)
        async with grpc.aio.insecure_channel(threads.address) as channel:
            waiting = await populate(channel, count)
    calls = [
        (
            "RejectThread",
            pb.RejectThreadRequest(
                name=one.name,
                feedback="Not now.",
                proposal_id=one.proposal_id,
                proposal_digest=one.proposal_digest,
            ),
        )
        for one in waiting
    ]
    async with databases.copy_of("threads") as copy:
        transactions = await recorded(copy, nats_url, calls)
    yield transactions, url
