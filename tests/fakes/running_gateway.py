"""A gateway on a free port, in front of fake services on a unix socket. The gateway itself is the real one."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from gateway.contexts import MODULES
from gateway.main import build
from gateway.settings import GatewaySettings
from services.kernel.clock import SystemClock
from services.kernel.lifecycle import Lifecycle
from services.kernel.principal import Authenticator, Principal
from services.kernel.settings import load
from tests.fakes.gateway_services import FakeServices, Script

SECRET = "a-secret-of-at-least-thirty-two-characters"


@dataclass
class Gateway:
    """A running gateway and what is behind it."""

    address: str
    http: httpx.AsyncClient
    services: FakeServices
    life: Lifecycle
    console: Path

    @property
    def script(self) -> Script:
        """What the fakes answer and were asked."""
        return self.services.script

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.address.rpartition(":")[2])


Start = Callable[..., Awaitable[Gateway]]


def bearer(tenant: str = "acme", subject: str = "ann", roles: frozenset[str] = frozenset({"viewer"})) -> dict[str, str]:
    """The header of a person of that tenant."""
    token = Authenticator(SECRET, SystemClock()).mint(Principal(tenant, subject, "user", roles), timedelta(hours=1))
    return {"authorization": f"Bearer {token}"}


@asynccontextmanager
async def gateways() -> AsyncIterator[Start]:
    """Starts gateways with the settings it is given; all end with the block."""
    async with AsyncExitStack() as stack:

        async def start(**overrides: Any) -> Gateway:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="treadle-gw-")))
            services = FakeServices(f"unix:{folder}/s", Authenticator(overrides.get("auth_secret"), SystemClock()))
            await services.start()
            stack.push_async_callback(services.stop)
            defaults = {
                "gateway_listen": "127.0.0.1:0",
                "console_dist": folder / "dist",
                "sse_linger_seconds": 0.05,
                **{f"{context}_target": services.address for context in MODULES},
            }
            settings = load(GatewaySettings, **{**defaults, **overrides})
            life = await stack.enter_async_context(Lifecycle("gateway", settings.drain_seconds))
            bound = await build(settings, life)
            http = await stack.enter_async_context(httpx.AsyncClient(base_url=f"http://{bound.address}", timeout=20))
            return Gateway(bound.address, http, services, life, settings.console_dist)

        yield start
