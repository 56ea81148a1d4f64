"""B2: `POST /api/threads` through gateway and threads, 16 clients, no runner: throughput in a closed loop, latency at
200 a second; the same transactions on asyncpg beside it, and the published figures of LangGraph's dev server."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

import orjson

from services.engines import Engines, engines
from services.kernel.bus import Bus
from tests.bench.closed_loop import Loop, closed_loop
from tests.bench.cpu_bill import CpuBill
from tests.bench.databases import Databases
from tests.bench.deployables import site
from tests.bench.domain_stream import fresh_domain
from tests.bench.figures import AtLeast, AtMost, Figure, RatioAtLeast, percentile
from tests.bench.http_connection import http_pool
from tests.bench.paced import paced_latencies
from tests.bench.population import create_request, description, title
from tests.bench.recorded_threads import recorded
from tests.bench.recording import Steps, replay_on, statements_of
from tests.bench.workbench import Workbench

ROW = "B2"
ABOUT = "POST /api/threads, 16 clients, no runner"
_CLIENTS = 16
_WARM = 64
_PACE = 200.0
_LANGGRAPH_PER_SECOND = 303.0
_LANGGRAPH_P99_MS = 151.0
"""As published in design/quality.md for the same machine."""


@dataclass(frozen=True, slots=True)
class _Half:
    loop: Loop
    paced: list[float]


async def measure(bench: Workbench) -> list[Figure]:
    """Threads a second, and the milliseconds of one."""
    closed, paced = bench.load(2_500, 400), bench.load(1_200, 200)
    room = bench.room(ROW)
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(engines(room / "engines"))
        databases = Databases(servers)
        bus = await Bus.connect(servers.nats_url, "bench")
        stack.push_async_callback(bus.close)
        await databases.migrated("threads")
        requests = [("CreateThread", create_request(number)) for number in range(_WARM + closed + paced)]
        async with databases.copy_of("threads") as url:
            transactions = await recorded(url, servers.nats_url, requests)
        bill = CpuBill()
        values, raws = await bench.interleaved(
            ROW,
            lambda _: _posted(bench, servers, bus, (closed, paced), bill),
            lambda _: _replayed(databases, transactions, closed),
        )
    per_second = [half.loop.per_second for half in values]
    return [
        Figure(
            ROW,
            f"POST /api/threads, {_CLIENTS} clients",
            "/s",
            per_second,
            AtLeast(500),
            [half.loop.per_second for half in raws],
            {
                "raw": "the same transactions on asyncpg",
                "statements": statements_of(transactions),
                "cpu_ms_each": bill.milliseconds_each(),
            },
        ),
        Figure(
            ROW,
            "against LangGraph's dev server (published)",
            "/s",
            per_second,
            RatioAtLeast(1.7),
            [_LANGGRAPH_PER_SECOND],
        ),
        Figure(
            ROW,
            f"p99 paced at {_PACE:g}/s (LangGraph's {_LANGGRAPH_P99_MS:g} ms)",
            "ms",
            [percentile(half.paced, 0.99) for half in values],
            AtMost(25),
            [percentile(half.paced, 0.99) for half in raws],
            {"p50": [percentile(half.paced, 0.5) for half in values], "samples": [half.paced for half in values]},
        ),
    ]


async def _posted(bench: Workbench, servers: Engines, bus: Bus, counts: tuple[int, int], bill: CpuBill) -> _Half:
    closed, paced = counts
    await fresh_domain(bus)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(Databases(servers).copy_of("threads"))
        place = await stack.enter_async_context(site(bench.room(ROW), servers.nats_url, bench.profile))
        threads = await place.service("threads", url)
        gateway = await place.gateway(threads)
        pool = await stack.enter_async_context(http_pool(gateway.address, _CLIENTS))

        async def post(number: int) -> None:
            body = orjson.dumps({"title": title(number), "description": description()})
            await pool.request("POST", "/api/threads", body)

        await closed_loop(_CLIENTS, range(_WARM), lambda _, number: post(number))
        with bill.over(servers, closed, threads=threads.pid, gateway=gateway.pid):
            loop = await closed_loop(_CLIENTS, range(_WARM, _WARM + closed), lambda _, number: post(number))
        return _Half(loop, await paced_latencies(_PACE, range(paced), post))


async def _replayed(databases: Databases, transactions: list[Steps], closed: int) -> _Half:
    async with databases.copy_of("threads") as url, replay_on(url, _CLIENTS) as replay:
        await closed_loop(_CLIENTS, transactions[:_WARM], lambda _, steps: replay.run(steps))
        loop = await closed_loop(_CLIENTS, transactions[_WARM : _WARM + closed], lambda _, steps: replay.run(steps))
        return _Half(loop, await paced_latencies(_PACE, transactions[_WARM + closed :], replay.run))
