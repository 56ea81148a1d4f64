"""B1: decisions a second through threads' gRPC, 16 clients, against the same statements with no service around.

One population, made once. Each half of each round decides all of it on a copy of its own: the service with its relay
running, and a replay of the very transactions on an asyncpg pool as the kernel opens it; both have a connection a
client. The replay runs what the service runs now: statements that are joined make both faster, and the ratio smaller.
On a busy machine the service gets more than its share of it, being more processes: there the figure of processor time
is the one to look at.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median

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
_POOL = {"TREADLE_POOL_MIN": str(_CLIENTS), "TREADLE_POOL_MAX": str(_CLIENTS)}


@dataclass(frozen=True, slots=True)
class _Half:
    """`cpu`: milliseconds of processor time a decision, by who used them."""

    loop: Loop
    cpu: dict[str, float]


async def measure(bench: Workbench) -> list[Figure]:
    """Decisions a second, and the processor time of one."""
    room = bench.room(ROW)
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(engines(room / "engines"))
        databases = Databases(servers)
        bus = await Bus.connect(servers.nats_url, "bench")
        stack.push_async_callback(bus.close)
        work = await _population(bench, databases, servers.nats_url, bench.load(3_000, 400) + _WARM)
        async with databases.copy_of("threads") as url:
            transactions = await recorded(url, servers.nats_url, [(one.rpc, one.request) for one in work])
        values, raws = await bench.interleaved(
            ROW,
            lambda _: _decided(bench, servers, bus, work),
            lambda _: _replayed(servers, transactions),
        )
    return [
        Figure(
            ROW,
            f"decisions/s, {_CLIENTS} clients",
            "/s",
            [half.loop.per_second for half in values],
            RatioAtLeast(0.5),
            [half.loop.per_second for half in raws],
            {"raw": "the same transactions on asyncpg", "statements": statements_of(transactions)},
        ),
        Figure(
            ROW,
            "processor time of a decision, clients and engines included",
            "ms",
            [sum(half.cpu.values()) for half in values],
            None,
            [sum(half.cpu.values()) for half in raws],
            {"cpu_ms_each": _middle(values), "raw_cpu_ms_each": _middle(raws)},
        ),
    ]


def _middle(halves: list[_Half]) -> dict[str, float]:
    """The medians of the rounds."""
    return {name: median(half.cpu[name] for half in halves) for name in halves[0].cpu}


async def _population(bench: Workbench, databases: Databases, nats_url: str, count: int) -> list[Decision]:
    url = await databases.migrated("threads")
    async with site(bench.room(f"{ROW}-population"), nats_url) as place:
        threads = await place.service("threads", url)
        async with grpc.aio.insecure_channel(threads.address) as channel:
            waiting = await populate(channel, count)
    await forget_outbox(url)
    return decisions(waiting)


async def _decided(bench: Workbench, servers: Engines, bus: Bus, work: list[Decision]) -> _Half:
    await fresh_domain(bus)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(Databases(servers).copy_of("threads"))
        place = await stack.enter_async_context(site(bench.room(ROW), servers.nats_url, bench.profile))
        threads = await place.service("threads", url, **_POOL)
        stubs = await stack.enter_async_context(_stubs(threads.address))

        async def decide(client: int, decision: Decision) -> None:
            await getattr(stubs[client], decision.rpc)(decision.request)

        await closed_loop(_CLIENTS, work[:_WARM], decide)
        bill = CpuBill()
        with bill.over(servers, len(work) - _WARM, threads=threads.pid):
            loop = await closed_loop(_CLIENTS, work[_WARM:], decide)
        return _Half(loop, bill.milliseconds_each())


async def _replayed(servers: Engines, transactions: list[Steps]) -> _Half:
    async with Databases(servers).copy_of("threads") as url, replay_on(url, _CLIENTS) as replay:
        await closed_loop(_CLIENTS, transactions[:_WARM], lambda _, steps: replay.run(steps))
        bill = CpuBill()
        with bill.over(servers, len(transactions) - _WARM):
            loop = await closed_loop(_CLIENTS, transactions[_WARM:], lambda _, steps: replay.run(steps))
        return _Half(loop, bill.milliseconds_each())


@asynccontextmanager
async def _stubs(address: str) -> AsyncIterator[list[ThreadServiceStub]]:
    """A connection a client."""
    async with AsyncExitStack() as stack:
        own = [("grpc.use_local_subchannel_pool", 1)]
        yield [
            ThreadServiceStub(await stack.enter_async_context(grpc.aio.insecure_channel(address, options=own)))
            for _ in range(_CLIENTS)
        ]
