"""The composition root of the planning service."""

from __future__ import annotations

from datetime import timedelta

from services.kernel import idempotency
from services.kernel.bus import Bus
from services.kernel.clock import SystemClock
from services.kernel.grpc_server import GrpcServer
from services.kernel.lifecycle import Bound, Lifecycle
from services.kernel.postgres import Database
from services.kernel.principal import Authenticator
from services.kernel.relay import Relay
from services.planning.settings import PlanningSettings


async def build(settings: PlanningSettings, life: Lifecycle) -> Bound:
    """Database, bus, relay and the gRPC server with health and reflection; its own RPCs come with their issue."""
    clock = SystemClock()
    database = await Database.open(
        settings.planning_database_url, "planning", min_size=settings.pool_min, max_size=settings.pool_max
    )
    life.push(database.close)
    bus = await Bus.connect(settings.nats_url, "planning")
    life.push(bus.close)
    life.spawn("relay", Relay(database, bus, "planning").run)
    life.spawn("purge", lambda: idempotency.purge_forever(database, clock, timedelta(hours=1)))

    server = GrpcServer("planning", settings.listen, [], Authenticator(settings.secret(), clock))
    address = await server.start()
    life.push(lambda: server.stop(settings.drain_seconds / 2))
    life.on_drain(server.not_serving)
    return Bound("planning", address)
