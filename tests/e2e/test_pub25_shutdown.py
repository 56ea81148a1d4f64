"""PUB25: SIGTERM with streams open. Streams end within 2 s, the process exits 0, a run is not lost, readers go on."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from pathlib import Path

import grpc
import httpx
import pytest

from services.engines import Engines
from services.kernel.grpc_client import open_channel
from tests.conftest import SERVICES, MakeDatabase
from tests.e2e.matter import Matters
from tests.nats_server import NatsServer
from tests.stack import Process, running_fleet, running_stack
from treadle.streaming.v1 import feed_service_pb2 as pb
from treadle.streaming.v1 import feed_service_pb2_grpc as rpc

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
STREAMS = 20
_END_SECONDS = 2.0


async def test_pub25_sigterm_ends_open_streams_and_exits_zero(
    tmp_path: Path, servers: Engines, make_database: MakeDatabase, nats_server: NatsServer
) -> None:
    urls = {name: await make_database(name) for name in SERVICES}
    async with running_fleet(tmp_path, servers, urls, nats_server.url, replicas=1) as fleet, fleet.client() as client:
        done = await Matters(client).finished("before the shutdown")
        opened = asyncio.Semaphore(0)
        over_sse = [asyncio.create_task(_sse(fleet.gateways[0], opened)) for _ in range(STREAMS)]
        channel = open_channel(fleet.targets["streaming"][0])
        over_grpc = [asyncio.create_task(_grpc(channel, opened)) for _ in range(STREAMS)]
        async with asyncio.timeout(20):
            for _ in range(2 * STREAMS):
                await opened.acquire()
        assert await _seconds_to_end(fleet.processes["gateway"][0], over_sse) < _END_SECONDS
        assert await _seconds_to_end(fleet.processes["streaming"][0], over_grpc) < _END_SECONDS
        await channel.close()
        # Started again on the same addresses, readers go on from their last id.
        for name in ("streaming", "gateway"):
            await fleet.processes[name][0].start()
        last = over_sse[0].result()
        events = await _first_event_after(fleet.gateways[0], last, "after the shutdown")
        assert events
        assert done["id"] not in events


async def test_pub25_a_run_in_progress_is_drained_not_lost(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack:
        async with stack.client() as client:
            matters = Matters(client)
            created = await matters.create("slow", "append to slow.md: it ran [[slow 1s]]")
            await matters.wait(created["id"], "inferring_intent", "inferring_context", "inferring_action")
        assert await stack.stop() == 0
        await stack.start()
        async with stack.client() as client:
            matters = Matters(client)
            card = await matters.wait(created["id"], "awaiting_confirmation")
            assert (await matters.approve(card)).status_code == 200
            await matters.wait(created["id"], "done")
        assert (stack.home / "files" / "slow.md").read_text().count("it ran") == 1


async def _sse(base: str, opened: asyncio.Semaphore) -> str:
    """Reads the tenant's feed until it ends; answers the last id."""
    last = ""
    async with httpx.AsyncClient(timeout=60) as client, client.stream("GET", f"{base}/api/stream") as answer:
        with contextlib.suppress(httpx.RemoteProtocolError, httpx.ReadError):
            async for line in answer.aiter_lines():
                if line.startswith("id:"):
                    if not last:
                        opened.release()
                    last = line.removeprefix("id:").strip()
    return last


async def _grpc(channel: grpc.aio.Channel, opened: asyncio.Semaphore) -> None:
    first = True
    with contextlib.suppress(grpc.aio.AioRpcError):
        async for _ in rpc.FeedServiceStub(channel).SubscribeTenant(pb.SubscribeTenantRequest()):
            if first:
                opened.release()
            first = False


async def _seconds_to_end(process: Process, streams: list[asyncio.Task[str]] | list[asyncio.Task[None]]) -> float:
    """SIGTERM; how long until all its streams have ended. The process exits 0 inside its grace."""
    begin = time.monotonic()
    ending = asyncio.create_task(process.end(signal.SIGTERM, within=15))
    await asyncio.gather(*streams)
    ended = time.monotonic() - begin
    assert await ending == 0, process.tail()
    return ended


async def _first_event_after(base: str, last_id: str, title: str) -> str:
    """What the feed says after `last_id`, once a new thread has been made."""
    async with asyncio.timeout(60), httpx.AsyncClient(base_url=base, timeout=60) as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get("/readyz")).status_code == 200:
                    break
            await asyncio.sleep(0.05)
        await Matters(client).create(title)
        async with client.stream("GET", "/api/stream", headers={"Last-Event-ID": last_id}) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data:"):
                    return line
    return ""
