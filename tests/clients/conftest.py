"""Services with a gateway, a proxy that cuts for each client, and the clients: one Chromium, one `npm ci`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Browser, async_playwright

from tests.bench.deployables import Deployable, site
from tests.browser import chromium
from tests.clients import node_client
from tests.clients.chromium_client import ChromiumClient
from tests.clients.cutting_proxy import CuttingProxy, cutting_proxy
from tests.clients.heard import Client
from tests.clients.httpx_client import HttpxClient
from tests.clients.node_client import NodeClient
from tests.conftest import _Templates as Templates
from tests.nats_server import NatsServer

_SEED: Final = 20_261
_RETRY_MILLISECONDS: Final = "20"


@dataclass(frozen=True)
class House:
    """What the clients read from."""

    streaming: Deployable
    gateway: Deployable

    @property
    def url(self) -> str:
        """Of the gateway, with no proxy before it."""
        return f"http://{self.gateway.address}"


@dataclass(frozen=True)
class Cut:
    """A client, and the proxy that it has to go through."""

    client: Client
    proxy: CuttingProxy


@pytest.fixture(scope="module")
async def node_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """npm's client, installed."""
    return await node_client.install(tmp_path_factory.mktemp("node_client"))


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """Debian's Chromium."""
    path = chromium.executable()
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        yield running
        await running.close()


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory, _templates: Templates) -> AsyncIterator[House]:
    """Threads, streaming and the gateway, each in a process of its own, for all tests of the module."""
    folder = tmp_path_factory.mktemp("clients")
    nats = NatsServer(folder / "nats")
    await nats.start()
    databases = {name: await _templates.copy(name) for name in ("threads", "streaming")}
    try:
        async with site(folder, nats.url) as place:
            threads, streaming = await asyncio.gather(
                *(
                    place.service(name, _templates.servers.database_url(base), TREADLE_PLANNING_TARGET="none")
                    for name, base in databases.items()
                )
            )
            gateway = await place.gateway(threads, streaming, TREADLE_SSE_RETRY_MILLISECONDS=_RETRY_MILLISECONDS)
            yield House(streaming, gateway)
    finally:
        await nats.stop()
        await asyncio.gather(*(_templates.drop(base) for base in databases.values()))


@pytest.fixture
async def clients(house: House, node_script: Path, browser: Browser) -> AsyncIterator[dict[str, Cut]]:
    """The three, each behind a proxy with its own seed."""
    async with AsyncExitStack() as stack:
        proxies = [
            await stack.enter_async_context(cutting_proxy(house.gateway.address, _SEED + number)) for number in range(3)
        ]
        page = await browser.new_page()
        stack.push_async_callback(page.close)
        await page.goto(f"{proxies[0].url}/healthz")
        for proxy in proxies:
            proxy.begin()
        read: dict[str, Client] = {
            "chromium": ChromiumClient(page),
            "eventsource": NodeClient(node_script, proxies[1].url),
            "httpx-sse": HttpxClient(proxies[2].url),
        }
        yield {name: Cut(client, proxy) for (name, client), proxy in zip(read.items(), proxies, strict=True)}
