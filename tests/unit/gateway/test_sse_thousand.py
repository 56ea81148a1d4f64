"""A thousand subscribers of one session, one of them stalled: it alone is cut, the others see every event in order."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack

import pytest

from services.kernel.frames import line_of_json
from tests.fakes.running_gateway import Gateway
from tests.unit.gateway.sse_client import dial, strict
from tests.unit.gateway.test_sse_lifetime import NAME, PATH, eventually, open_streams

READERS = 1_000
EVENTS = 400
BURST = 50
READ_CLOSELY = 50
"""Every so many readers the frames are parsed; of the others the events are counted."""
MARK = b"event: "


@pytest.mark.timeout(400)  # 6 GB go over loopback
async def test_pub16_a_thousand_subscribers_and_one_that_stalls(gateway: Gateway, stack: AsyncExitStack) -> None:
    log = gateway.services.log(NAME, keep=EVENTS)
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    narrow.setblocking(False)
    await asyncio.get_running_loop().sock_connect(narrow, ("127.0.0.1", gateway.port))
    _, stalled = await asyncio.open_connection(sock=narrow, limit=1024)
    stack.callback(stalled.close)
    stalled.write(f"GET {PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    stalled.transport.pause_reading()  # type: ignore[attr-defined]
    readers = []
    for _ in range(READERS - 1):
        live = await dial(gateway.port, PATH)
        stack.callback(live.drop)
        readers.append(live)
    for live in readers:
        await live.begin()
    await eventually(lambda: open_streams() == READERS, 30)

    data = line_of_json({"delta": "x" * 16_000})
    for end in range(BURST, EVENTS + 1, BURST):
        log.append(data, count=BURST)
        async with asyncio.timeout(60):
            for live in readers:
                while live.body.count(MARK) < BURST:
                    await live.more()
        expected = [f"1-{n}" for n in range(end - BURST + 1, end + 1)]
        for number, live in enumerate(readers):
            assert live.body.count(MARK) == BURST
            assert number % READ_CLOSELY or [event.id for event in strict(live.body).events] == expected
            live.body = b""
    await eventually(lambda: open_streams() == READERS - 1, 20)
