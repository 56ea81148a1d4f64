"""The gateway as a process of its own: `python -m gateway`, its signals and its exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx

from gateway.contexts import MODULES
from services.kernel.clock import SystemClock
from services.kernel.principal import Authenticator
from tests.fakes.gateway_services import FakeServices
from tests.ports import free_port
from tests.unit.gateway.sse_client import stream

ROOT = Path(__file__).resolve().parents[3]


@asynccontextmanager
async def process(**told: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The gateway with these settings; killed if it is still there at the end."""
    base = {key: value for key, value in os.environ.items() if not key.startswith("TREADLE_")}
    base["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "protos" / "gen")])
    settings = {f"TREADLE_{key.upper()}": value for key, value in told.items()}
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", env={**base, **settings}, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield running
    finally:
        if running.returncode is None:
            running.kill()
        await running.communicate()


async def _ready(port: int) -> None:
    async with asyncio.timeout(20), httpx.AsyncClient() as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(f"http://127.0.0.1:{port}/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.05)


async def test_pub25_sigterm_with_open_streams_ends_them_and_the_process_cleanly(
    tmp_path: Path, stack: AsyncExitStack
) -> None:
    services = FakeServices(f"unix:{tmp_path}/s", Authenticator(None, SystemClock()))
    await services.start()
    stack.push_async_callback(services.stop)
    services.log("sessions/ses_1").append(b"{}", count=3)
    port = free_port()
    told = {
        "gateway_listen": f"127.0.0.1:{port}",
        **{f"{context}_target": services.address for context in MODULES},
    }
    async with process(**told) as running:
        await _ready(port)
        path = "/api/sessions/ses_1/stream"
        readers = [await stack.enter_async_context(stream(port, path)) for _ in range(20)]
        for live in readers:
            await live.until_events(3)
        begin = asyncio.get_running_loop().time()
        running.send_signal(signal.SIGTERM)
        for live in readers:
            await live.until_end(2)
        assert await asyncio.wait_for(running.wait(), 10) == 0
        assert asyncio.get_running_loop().time() - begin < 5
        assert running.stderr is not None
        assert b"Traceback" not in await running.stderr.read()
    async with process(**told):
        await _ready(port)
        services.log("sessions/ses_1").append(b"{}")
        async with stream(port, path, {"last-event-id": "1-3"}) as back:
            assert [event.id for event in await back.until_events(1)] == ["1-4"]


async def test_settings_that_are_wrong_are_told_in_one_go_and_end_it_with_2() -> None:
    async with process(gateway_listen="0.0.0.0:8080", gateway_body_bytes="many") as running:
        _, err = await asyncio.wait_for(running.communicate(), 20)
        assert running.returncode == 2
        assert b"TREADLE_GATEWAY_LISTEN" in err
        assert b"TREADLE_AUTH_SECRET" in err
        assert b"TREADLE_GATEWAY_BODY_BYTES" in err
        assert b"Traceback" not in err
