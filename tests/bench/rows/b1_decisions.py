"""B1: decisions a second through threads' gRPC, 16 clients, against the same statements with no service around.

One population, made once. Each half of each round decides all of it on a copy of its own: the service with its relay
running, and a replay of the very transactions on an asyncpg pool as the kernel opens it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc

from services.engines import Engines, engines
from services.kernel.bus import Bus
from tests.bench.closed_loop import Loop, closed_loop
from tests.bench.cpu_bill import CpuBill
from tests.bench.databases import Databases
from tests.bench.deployables import site
from tests.bench.domain_stream import fresh_domain
from tests.bench.figures import Figure, RatioAtLeast
from tests.bench.population import Decision, decisions, forget_outbox, populate
from tests.bench.recorded_threads import recorded
from tests.bench.recording import Steps, replay_on, statements_of
from tests.bench.workbench import Workbench
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceStub

ROW = "B1"
ABOUT = "decisions a second through threads' gRPC, 16 clients"
_CLIENTS = 16
_WARM = 64


async def measure(bench: Workbench) -> list[Figure]:
    """Decisions a second."""
    room = bench.room(ROW)
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(engines(room / "engines"))
        databases = Databases(servers)
        bus = await Bus.connect(servers.nats_url, "bench")
        stack.push_async_callback(bus.close)
        work = await _population(bench, databases, servers.nats_url, bench.load(3_000, 400) + _WARM)
        async with databases.copy_of("threads") as url:
            transactions = await recorded(url, servers.nats_url, [(one.rpc, one.request) for one in work])
        bill, raw_bill = CpuBill(), CpuBill()
        values, raws = await bench.interleaved(
            ROW,
            lambda _: _decided(bench, servers, bus, work, bill),
            lambda _: _replayed(servers, transactions, raw_bill),
        )
    return [
        Figure(
            ROW,
            f"decisions/s, {_CLIENTS} clients",
            "/s",
            [loop.per_second for loop in values],
            RatioAtLeast(0.5),
            [loop.per_second for loop in raws],
            {
                "raw": "the same transactions on asyncpg",
                "statements": statements_of(transactions),
                "cpu_ms_each": bill.milliseconds_each(),
                "raw_cpu_ms_each": raw_bill.milliseconds_each(),
            },
        )
    ]


async def _population(bench: Workbench, databases: Databases, nats_url: str, count: int) -> list[Decision]:
    url = await databases.migrated("threads")
    async with site(bench.room(f"{ROW}-population"), nats_url) as place:
        threads = await place.service("threads", url)
        async with grpc.aio.insecure_channel(threads.address) as channel:
            waiting = await populate(channel, count)
    await forget_outbox(url)
    return decisions(waiting)


async def _decided(bench: Workbench, servers: Engines, bus: Bus, work: list[Decision], bill: CpuBill) -> Loop:
    await fresh_domain(bus)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(Databases(servers).copy_of("threads"))
        place = await stack.enter_async_context(site(bench.room(ROW), servers.nats_url, bench.profile))
        threads = await place.service("threads", url)
        stubs = await stack.enter_async_context(_stubs(threads.address))

        async def decide(client: int, decision: Decision) -> None:
            await getattr(stubs[client], decision.rpc)(decision.request)

        await closed_loop(_CLIENTS, work[:_WARM], decide)
        with bill.over(servers, len(work) - _WARM, threads=threads.pid):
            return await closed_loop(_CLIENTS, work[_WARM:], decide)


async def _replayed(servers: Engines, transactions: list[Steps], bill: CpuBill) -> Loop:
    async with Databases(servers).copy_of("threads") as url, replay_on(url, _CLIENTS) as replay:
        await closed_loop(_CLIENTS, transactions[:_WARM], lambda _, steps: replay.run(steps))
        with bill.over(servers, len(transactions) - _WARM):
            return await closed_loop(_CLIENTS, transactions[_WARM:], lambda _, steps: replay.run(steps))


@asynccontextmanager
async def _stubs(address: str) -> AsyncIterator[list[ThreadServiceStub]]:
    """A connection a client."""
    async with AsyncExitStack() as stack:
        own = [("grpc.use_local_subchannel_pool", 1)]
        yield [
            ThreadServiceStub(await stack.enter_async_context(grpc.aio.insecure_channel(address, options=own)))
            for _ in range(_CLIENTS)
        ]
