"""B3: a child's terminal transition with 10, 1,000 and 10,000 siblings: the cost does not grow with them.

One client, one end after the other, through threads' gRPC; each half of a round ends children of families of its own
size. The raw limit is the same with 10 siblings, so that the ratio is the growth itself.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from time import perf_counter
from typing import TYPE_CHECKING

import grpc

from services.engines import engines
from tests.bench.databases import Databases
from tests.bench.deployables import site
from tests.bench.figures import Figure, RatioAtLeast
from tests.bench.large_families import children_of, made
from tests.bench.workbench import Workbench
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceStub

if TYPE_CHECKING:
    from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceAsyncStub

ROW = "B3"
ABOUT = "a child's terminal transition with 10, 1,000 and 10,000 siblings"
_FEW = 10
_MOST_GROWTH = 1.2
_WARM = 20


async def measure(bench: Workbench) -> list[Figure]:
    """Ends a second, and how they change with the number of siblings."""
    each = bench.load(120, 20)
    figures = []
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(engines(bench.room(ROW) / "engines"))
        url = await Databases(servers).migrated("threads")
        place = await stack.enter_async_context(site(bench.room(ROW), servers.nats_url, bench.profile))
        threads = await place.service("threads", url)
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(threads.address))
        stub = ThreadServiceStub(channel)
        await _ended(stub, await _of_few(stub, _WARM))
        for siblings in (1_000, bench.load(10_000, 2_000)):
            many = await children_of(stub, await made(stub, siblings), bench.rounds * each + _WARM)
            await _ended(stub, many[:_WARM])

            async def of_many(number: int, many: list[str] = many) -> float:
                return await _ended(stub, many[_WARM + number * each : _WARM + (number + 1) * each])

            async def of_few(_: int) -> float:
                return await _ended(stub, await _of_few(stub, each))

            values, raws = await bench.interleaved(ROW, of_many, of_few)
            figures.append(
                Figure(
                    ROW,
                    f"ends/s, {siblings:,} siblings",
                    "/s",
                    values,
                    RatioAtLeast(1 / _MOST_GROWTH),
                    raws,
                    {"raw": f"the same with {_FEW} siblings"},
                )
            )
    return figures


async def _of_few(stub: ThreadServiceAsyncStub, count: int) -> list[str]:
    """Children of small families, never the last of one."""
    names: list[str] = []
    while len(names) < count:
        names += await children_of(stub, await made(stub, _FEW), _FEW - 1)
    return names[:count]


async def _ended(stub: ThreadServiceAsyncStub, names: list[str]) -> float:
    """Ends a second."""
    began = perf_counter()
    for name in names:
        await stub.DismissThread(pb.DismissThreadRequest(name=name))
    return len(names) / (perf_counter() - began)
