"""The gateway's streams in front of the real streaming service, on the real engines."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest

from gateway.main import build as build_gateway
from gateway.settings import GatewaySettings
from services.kernel.lifecycle import Lifecycle
from services.kernel.settings import load
from services.streaming.main import build as build_streaming
from services.streaming.settings import StreamingSettings
from tests.conftest import MakeDatabase
from tests.integration.streaming.client import Streaming, tool
from tests.unit.gateway.sse_client import stream

Restart = Callable[[], Awaitable[Streaming]]


@dataclass
class House:
    """A gateway, and the streaming service behind it, which can be stopped and started."""

    port: int
    http: httpx.AsyncClient
    start_service: Restart


@pytest.fixture
async def house(tmp_path: Path, make_database: MakeDatabase, nats_url: str) -> AsyncIterator[House]:
    """Both run; a further start_service() stops the one before."""
    url = await make_database("streaming")
    address = f"unix:{tmp_path}/streaming"
    lives: list[AsyncExitStack] = []

    async def start_service() -> Streaming:
        if lives:
            await lives.pop().aclose()
        scope = AsyncExitStack()
        settings = load(
            StreamingSettings,
            listen=address,
            planning_target="none",
            streaming_database_url=url,
            nats_url=nats_url,
            drain_seconds=5,
        )
        life = await scope.enter_async_context(Lifecycle("streaming", settings.drain_seconds))
        await build_streaming(settings, life)
        channel = grpc.aio.insecure_channel(address)
        scope.push_async_callback(channel.close)
        lives.append(scope)
        return Streaming(channel, life, url)

    await start_service()
    settings = load(GatewaySettings, gateway_listen="127.0.0.1:0", threads_target=address, streaming_target=address)
    try:
        async with Lifecycle("gateway", settings.drain_seconds) as life:
            bound = await build_gateway(settings, life)
            async with httpx.AsyncClient(base_url=f"http://{bound.address}", timeout=20) as http:
                yield House(int(bound.address.rpartition(":")[2]), http, start_service)
    finally:
        for scope in lives:
            await scope.aclose()


async def _session(house: House) -> str:
    response = await house.http.post("/api/sessions", json={"adapter": "scripted", "title": "a talk"})
    assert response.status_code == 200, response.text
    session: str = response.json()["id"]
    return session


async def test_a_session_opened_over_rest_can_be_streamed_at_once(house: House) -> None:
    session = await _session(house)
    async with stream(house.port, f"/api/sessions/{session}/stream") as live:
        events = await live.until_events(2)
    assert [(event.id, event.name) for event in events] == [("1-1", "status"), ("1-2", "turn")]
    gone = await house.http.get("/api/sessions/ses_0000000000007000800000000000000f/stream")
    assert (gone.status_code, gone.json()["reason"]) == (404, "SESSION_NOT_FOUND")


async def test_an_empty_feed_opens_at_once_and_waits(house: House) -> None:
    async with asyncio.timeout(5):
        for path in ("/api/stream", "/api/threads/thr_0000000000007000800000000000000f/stream"):
            async with stream(house.port, path) as live:
                assert live.status == 200
                await live.until_text(b"retry: ")


async def test_pub06_readers_that_drop_and_come_back_see_every_event_once_even_over_a_restart(house: House) -> None:
    service = await house.start_service()
    session = await _session(house)
    dice = random.Random(7)
    seen: list[list[str]] = [[], [], []]

    async def read(ids: list[str]) -> None:
        while len(ids) < 402:
            headers = {"last-event-id": ids[-1]} if ids else {}
            async with stream(house.port, f"/api/sessions/{session}/stream", headers) as live:
                count = min(dice.randint(1, 120), 402 - len(ids))
                events = await live.until_events(count)
                assert all(event.id for event in events), "no reset was due"
                ids += [event.id for event in events]

    readers = [asyncio.create_task(read(ids)) for ids in seen]
    async with service.attached(f"sessions/{session}") as runner:
        await runner.send(*(tool(n, f"c{n}") for n in range(1, 201)))
        await runner.stored(200)
    service = await house.start_service()
    async with service.attached(f"sessions/{session}") as runner:
        await runner.send(*(tool(n, f"d{n}") for n in range(1, 201)))
        await runner.stored(200)
    async with asyncio.timeout(40):
        await asyncio.gather(*readers)
    for ids in seen:
        assert ids == [f"1-{n}" for n in range(1, 403)]


@pytest.mark.parametrize("cursor", ["abc", "-1", "+5", "1_0", "9" * 5000, "1-999", "7-1"])
async def test_pub05_unusable_cursors_are_told_and_replayed_by_the_real_service(house: House, cursor: str) -> None:
    session = await _session(house)
    async with stream(house.port, f"/api/sessions/{session}/stream", {"last-event-id": cursor}) as live:
        events = await live.until_events(3)
    assert [event.name for event in events] == ["reset", "status", "turn"]
    assert [event.id for event in events] == ["", "1-1", "1-2"]
