"""B5: one session to 1,000 SSE readers through the gateway, against a bare server that drains queues of ready bytes.

The pump sends event by event and stays at most 16 ahead of the slowest reader: then a wake-up carries a few events,
as a model's stream does, and the raw server reaches about what the design gives for it (227,000 events/s). With a wide
window both join hundreds of events in one write; that is measured too, without a target.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import grpc

from services.engines import engines
from tests.bench.attach_pump import attached, new_session
from tests.bench.databases import Databases
from tests.bench.deployables import Deployable, Site, site
from tests.bench.fan_out import FanOut, FanOutLoad, fan_out
from tests.bench.feed_pump import FeedPump
from tests.bench.figures import AtMost, Figure, RatioAtLeast
from tests.bench.helper_process import helper_process
from tests.bench.workbench import Workbench

ROW = "B5"
ABOUT = "one session to 1,000 SSE readers through the gateway"


async def measure(bench: Workbench) -> list[Figure]:
    """Events a second, paced latency at 20 events/s (deltas are coalesced for up to 50 ms), and memory a reader."""
    load = FanOutLoad(
        readers=bench.load(1000, 200),
        narrow=(bench.load(600, 200), 16, 1),
        wide=(bench.load(4000, 800), 256, 32),
        paced_events=bench.load(100, 40),
        paced_per_second=20,
    )
    room = bench.room(ROW)
    async with engines(room / "engines") as servers, site(room, servers.nats_url, bench.profile) as place:
        url = await Databases(servers).migrated("streaming")
        streaming = await place.service("streaming", url, TREADLE_PLANNING_TARGET="none")
        ours, raws = await bench.interleaved(
            ROW, lambda _: _ours(bench, servers.nats_url, streaming, load), lambda _: _raw(load)
        )
    readers = f"{load.readers:,} readers"
    return [
        Figure(
            ROW,
            f"events/s to {readers}",
            "/s",
            [one.events_per_second for one in ours],
            RatioAtLeast(0.6),
            [one.events_per_second for one in raws],
            {"raw": "bare asyncio drain server", "events": load.narrow[0], "window": load.narrow[1]},
        ),
        Figure(
            ROW,
            "the same, wide window",
            "/s",
            [one.wide_events_per_second for one in ours],
            None,
            [one.wide_events_per_second for one in raws],
            {"events": load.wide[0], "window": load.wide[1], "batch": load.wide[2]},
        ),
        Figure(
            ROW,
            f"p99 at {load.paced_per_second:g} events/s",
            "ms",
            [one.latency["p99"] for one in ours],
            AtMost(60),
            [one.latency["p99"] for one in raws],
            {"latencies": [one.latency for one in ours], "raw_latencies": [one.latency for one in raws]},
        ),
        Figure(
            ROW,
            "kB a reader (RSS of the gateway)",
            "kB",
            [one.kb_a_reader for one in ours],
            AtMost(60),
            [one.kb_a_reader for one in raws],
            {"readers": load.readers},
        ),
    ]


async def _ours(bench: Workbench, nats_url: str, streaming: Deployable, load: FanOutLoad) -> FanOut:
    """A fresh gateway each round: what it grew by is then the readers'."""
    async with AsyncExitStack() as stack:
        place: Site = await stack.enter_async_context(site(bench.room(ROW), nats_url, bench.profile))
        gateway = await place.gateway(streaming)
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(streaming.address))
        session = await new_session(channel)
        pump = await stack.enter_async_context(attached(channel, session))
        return await fan_out(gateway.address, f"/api/{session}/stream", gateway.pid, pump, load, replays=True)


async def _raw(load: FanOutLoad) -> FanOut:
    async with helper_process("tests.bench.drain_server") as server:
        await server.said("feed")
        _, writer = await asyncio.open_connection("127.0.0.1", server.heard["feed"])
        try:
            return await fan_out(
                f"127.0.0.1:{server.heard['http']}", "/", server.pid, FeedPump(writer), load, replays=False
            )
        finally:
            writer.close()
