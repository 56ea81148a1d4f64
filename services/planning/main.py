"""The composition root of the planning service."""

from __future__ import annotations

from datetime import timedelta

from services.kernel import idempotency
from services.kernel.bus import Bus
from services.kernel.clock import SystemClock
from services.kernel.grpc_client import open_channel
from services.kernel.grpc_server import GrpcServer
from services.kernel.ids import new_id
from services.kernel.inbox import Fact, Inbox, subject_of
from services.kernel.lifecycle import Bound, Lifecycle
from services.kernel.postgres import Database, Tx
from services.kernel.principal import Authenticator
from services.kernel.relay import Relay
from services.kernel.service_tokens import ServiceTokens
from services.planning.adapters.forgetting import forget_forever
from services.planning.adapters.reads import PostgresReads
from services.planning.adapters.streaming_forks import StreamingForks
from services.planning.adapters.streaming_turns import StreamingTurns
from services.planning.adapters.wake import Wake
from services.planning.adapters.work import PostgresWork, PostgresWorkshop
from services.planning.application.branching import Branching
from services.planning.application.comparing import Comparing
from services.planning.application.documents import Documents
from services.planning.application.driving import Driving
from services.planning.application.hearing import hear
from services.planning.application.lateness import Lateness
from services.planning.application.objectives import Objectives
from services.planning.application.plans import Plans
from services.planning.application.telling import Telling
from services.planning.application.turning import Turning
from services.planning.settings import PlanningSettings
from services.planning.transport.servicer import PlanningServicer
from services.planning.transport.workspaces import WorkspaceServicer
from treadle.planning.v1.planning_service_pb2_grpc import add_PlanningServiceServicer_to_server
from treadle.planning.v1.workspace_service_pb2_grpc import add_WorkspaceServiceServicer_to_server


async def build(settings: PlanningSettings, life: Lifecycle) -> Bound:
    """Database and bus; the use cases; the sagas of branches towards streaming; streaming's facts; two services."""
    clock = SystemClock()
    database = await Database.open(
        settings.planning_database_url,
        "planning",
        min_size=settings.pool_min,
        max_size=settings.pool_max,
        patience=30,
    )
    life.push(database.close)
    bus = await Bus.connect(settings.nats_url, "planning")
    life.push(bus.close)
    channel = open_channel(settings.streaming_target)
    life.push(channel.close)

    authenticator = Authenticator(settings.secret(), clock)
    wake = Wake(bus)
    workshop, reads = PostgresWorkshop(database, wake), PostgresReads(database)
    tokens = ServiceTokens("planning", authenticator, clock)
    driving = Driving(workshop, StreamingForks(channel, tokens), clock)
    life.push(driving.close)

    async def heard(tx: Tx, fact: Fact) -> None:
        await hear(PostgresWork(tx), clock, fact.tenant, fact.payload)

    async def committed() -> None:
        await wake.committed(facts=True)

    inbox = Inbox(database, bus, "planning", [subject_of("streaming", "session")], heard, committed)
    life.spawn("inbox", inbox.run)
    life.spawn("branches", driving.run)
    life.spawn("relay", Relay(database, bus, "planning").run)
    life.spawn("purge", lambda: idempotency.purge_forever(database, clock, timedelta(hours=1)))
    life.spawn("forget", lambda: forget_forever(database, clock, timedelta(hours=1)))

    planning = PlanningServicer(
        Plans(workshop, clock, new_id),
        Objectives(workshop, clock),
        Telling(workshop, reads, clock),
        Lateness(workshop, reads, StreamingTurns(channel, tokens), clock),
        Documents(workshop, clock),
        Branching(workshop, clock, new_id),
        driving,
        Comparing(workshop, reads, clock, new_id),
        reads,
        settings.page_signing_key(),
    )
    server = GrpcServer(
        "planning",
        settings.listen,
        [
            (add_PlanningServiceServicer_to_server, planning, "treadle.planning.v1.PlanningService"),
            (
                add_WorkspaceServiceServicer_to_server,
                WorkspaceServicer(Turning(workshop, clock)),
                "treadle.planning.v1.WorkspaceService",
            ),
        ],
        authenticator,
    )
    address = await server.start()
    life.push(lambda: server.stop(settings.drain_seconds / 2))
    life.on_drain(server.not_serving)
    return Bound("planning", address)
