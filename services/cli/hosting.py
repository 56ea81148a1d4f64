"""Every deployable in this process, each built by its own build(), talking over gRPC on loopback."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gateway.main import build as build_gateway
from gateway.settings import GatewaySettings
from services.cli.free_port import free_address
from services.coordination.main import build as build_coordination
from services.coordination.settings import CoordinationSettings
from services.engines import Engines
from services.kernel.lifecycle import Bound, Build, Lifecycle
from services.kernel.migrations import migrate
from services.kernel.settings import CommonSettings, load
from services.planning.main import build as build_planning
from services.planning.settings import PlanningSettings
from services.runner.main import build as build_runner
from services.runner.settings import RunnerSettings
from services.streaming.main import build as build_streaming
from services.streaming.settings import StreamingSettings
from services.threads.main import build as build_threads
from services.threads.settings import ThreadsSettings

_S = TypeVar("_S", bound=CommonSettings)
_LOOPBACK = "127.0.0.1:0"
SERVICES = ("threads", "coordination", "planning", "streaming")


async def migrate_all(engines: Engines) -> None:
    """Brings the four databases to the newest schema."""
    for name in SERVICES:  # one after the other: Alembic keeps the context of a run in module globals
        await migrate(engines.database_url(name), f"services.{name}.migrations")


@dataclass(frozen=True, slots=True)
class Hosted:
    """Where everything listens: the gateway's HTTP, and each service's gRPC."""

    gateway: str
    services: dict[str, str]


async def host_all(engines: Engines, home: Path, gateway_listen: str, stack: AsyncExitStack) -> Hosted:
    """Builds services, gateway and runner in the order of their dependence; answers where they listen.
    Leaving the stack drains and stops them in reverse: the runner first, whose agents call tools at the gateway.
    Settings come from the environment, but for addresses and URLs, which are those of this process."""
    shared = {"listen": _LOOPBACK, "nats_url": engines.nats_url}

    async def host(name: str, build: Build[_S], settings: _S) -> Bound:
        life = await stack.enter_async_context(Lifecycle(name, settings.drain_seconds))
        return await build(settings, life)

    def urls(name: str) -> dict[str, str]:
        return {**shared, f"{name}_database_url": engines.database_url(name)}

    threads = await host("threads", build_threads, load(ThreadsSettings, **urls("threads")))
    # Planning and streaming call one another: streaming's address is chosen before either is there.
    streaming_at = free_address()
    planning = await host(
        "planning", build_planning, load(PlanningSettings, **urls("planning"), streaming_target=streaming_at)
    )
    streaming = await host(
        "streaming",
        build_streaming,
        load(StreamingSettings, **{**urls("streaming"), "listen": streaming_at, "planning_target": planning.address}),
    )
    coordination = await host(
        "coordination",
        build_coordination,
        load(CoordinationSettings, **urls("coordination"), streaming_target=streaming.address),
    )
    gateway = await host(
        "gateway",
        build_gateway,
        load(
            GatewaySettings,
            gateway_listen=gateway_listen,
            threads_target=threads.address,
            streaming_target=streaming.address,
            coordination_target=coordination.address,
            planning_target=planning.address,
        ),
    )
    await host(
        "runner",
        build_runner,
        load(
            RunnerSettings,
            threads_target=threads.address,
            streaming_target=streaming.address,
            coordination_target=coordination.address,
            planning_target=planning.address,
            gateway_url=f"http://{gateway.address}",
            home=home,
        ),
    )
    services = {bound.name: bound.address for bound in (threads, streaming, coordination, planning)}
    return Hosted(gateway.address, services)
