"""Readers that vanish, stall or outlive the server: what they held is given back."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack

import psutil
import pytest

from gateway.metrics import STREAMS_OPEN
from services.kernel.frames import line_of_json
from tests.fakes.running_gateway import Gateway, Start
from tests.unit.gateway.sse_client import Connection, dial, stream, strict

PATH = "/api/sessions/ses_1/stream"
NAME = "sessions/ses_1"


async def eventually(holds: Callable[[], bool], seconds: float = 5) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)


def open_streams() -> float:
    return next(iter(STREAMS_OPEN.collect())).samples[0].value


async def test_pub17_connections_that_reset_leave_nothing_behind(gateway: Gateway) -> None:
    log = gateway.services.log(NAME)
    log.append(b"{}")
    await gateway.http.get("/api/threads/thr_1")
    tasks = len(asyncio.all_tasks())
    slowest = 0.0
    loop = asyncio.get_running_loop()

    async def unary() -> None:
        nonlocal slowest
        begin = loop.time()
        assert (await gateway.http.get("/api/threads/thr_1")).status_code == 200
        slowest = max(slowest, loop.time() - begin)

    for number in range(300):
        connection = await dial(gateway.port, PATH)
        await connection.writer.drain()
        connection.drop()
        if number % 50 == 0:
            await unary()
    for number in range(100):
        async with stream(gateway.port, PATH) as live:
            await live.until_events(1)
        if number % 50 == 0:
            await unary()
    idle = [await dial(gateway.port, PATH) for _ in range(60)]
    for live in idle:
        await live.begin()
    await unary()
    assert log.open == 1
    for live in idle:
        live.drop()
    await eventually(lambda: open_streams() == 0 and log.open == 0)
    await eventually(lambda: len(asyncio.all_tasks()) <= tasks)
    assert slowest < 1.0
    assert log.newest == 1  # a disconnect is not a cancel: the log goes on
    log.append(b"{}")
    async with stream(gateway.port, PATH) as live:
        assert len(await live.until_events(2)) == 2


async def test_pub17_streams_are_counted_per_principal_and_given_back(start: Start) -> None:
    gateway = await start(gateway_open_streams=2)
    gateway.services.log(NAME).append(b"{}")
    async with stream(gateway.port, PATH), stream(gateway.port, PATH):
        refused = await gateway.http.get(PATH)
        assert refused.status_code == 429
        assert refused.json()["reason"] == "TOO_MANY_STREAMS"
        assert int(refused.headers["retry-after"]) > 0
    await eventually(lambda: open_streams() == 0)
    async with stream(gateway.port, PATH) as live:
        assert live.status == 200


async def test_pub16_a_reader_that_stops_reading_is_cut_and_comes_back_without_a_loss(
    gateway: Gateway, stack: AsyncExitStack
) -> None:
    log = gateway.services.log(NAME, keep=1_000)
    data = line_of_json({"delta": "x" * 2000})
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    narrow.setblocking(False)
    await asyncio.get_running_loop().sock_connect(narrow, ("127.0.0.1", gateway.port))
    reader, writer = await asyncio.open_connection(sock=narrow, limit=1024)
    stalled = Connection(reader, writer)
    stack.callback(stalled.drop)
    writer.write(f"GET {PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    await eventually(lambda: open_streams() == 1)
    writer.transport.pause_reading()
    before = psutil.Process().memory_info().rss
    async with stream(gateway.port, PATH) as live:
        seen = 0
        for _ in range(500):
            log.append(data, count=100)
            async with asyncio.timeout(20):
                while seen + live.body.count(b"event: ") < log.newest:
                    await live.more()
            seen += live.body.count(b"event: ")
            live.body = b""
        assert seen == log.newest == 50_000
    await eventually(lambda: open_streams() == 0)
    assert psutil.Process().memory_info().rss - before < 64 * 1024 * 1024
    writer.transport.resume_reading()
    await stalled.begin()
    await stalled.until_end()
    last = strict(stalled.body).events[-1].id if strict(stalled.body).events else ""
    assert last != "1-50000"


async def test_pub16_after_the_cut_the_reader_goes_on_from_its_last_id(start: Start) -> None:
    gateway = await start()
    log = gateway.services.log(NAME)
    log.append(b"{}", count=100)
    async with stream(gateway.port, PATH, {"last-event-id": "1-60"}) as live:
        assert [event.id for event in await live.until_events(40)] == [f"1-{n}" for n in range(61, 101)]


async def test_pub25_streams_end_at_once_on_shutdown_and_readiness_goes_first(
    start: Start, stack: AsyncExitStack
) -> None:
    gateway = await start(drain_seconds=60)
    log = gateway.services.log(NAME)
    log.append(b"{}")
    readers = [await stack.enter_async_context(stream(gateway.port, PATH)) for _ in range(20)]
    for live in readers:
        await live.until_events(1)
    released = asyncio.Event()
    gateway.script.answers["GetThread"] = lambda _: _answer_after(released)
    under_way = asyncio.create_task(gateway.http.get("/api/threads/thr_1"))
    await eventually(lambda: bool(gateway.script.asked))
    draining = asyncio.create_task(gateway.life.drain())
    for live in readers:
        await live.until_end(30)  # none of them waits for the request that is under way
        assert live.body.endswith(b": closed drain\n\n")
    assert not under_way.done()
    released.set()
    assert (await under_way).status_code == 200  # what was under way is finished
    await draining
    with pytest.raises(OSError, match=r"refused|Connect"):
        await asyncio.open_connection("127.0.0.1", gateway.port)


async def _answer_after(released: asyncio.Event) -> object:
    from treadle.threads.v1 import thread_service_pb2

    await released.wait()
    return thread_service_pb2.Thread(id="thr_1")


async def test_pub25_readyz_says_draining_before_anything_else_ends(start: Start) -> None:
    gateway = await start()
    gateway.services.log(NAME).append(b"{}")
    states = []

    async def look() -> None:
        states.append((await gateway.http.get("/readyz")).json()["status"])
        states.append(open_streams())

    async with stream(gateway.port, PATH) as live:
        await live.until_events(1)
        gateway.life._drains.insert(1, look)
        await gateway.life.drain()
    assert states == ["draining", 1.0]
