"""The composition root of the threads service."""

from __future__ import annotations

from datetime import timedelta

from services.kernel import idempotency
from services.kernel.bus import Bus
from services.kernel.clock import SystemClock
from services.kernel.grpc_server import GrpcServer
from services.kernel.ids import new_id
from services.kernel.job_gauge import count_jobs
from services.kernel.lifecycle import Bound, Lifecycle
from services.kernel.postgres import Database
from services.kernel.principal import Authenticator
from services.kernel.relay import Relay
from services.threads.adapters.reader import PostgresReader
from services.threads.adapters.schemas import JsonSchemas
from services.threads.adapters.wake import BusWake
from services.threads.adapters.work import PostgresStore
from services.threads.application.batches import Batches
from services.threads.application.commands import Commands
from services.threads.application.families import Families
from services.threads.application.groups import Groups
from services.threads.application.ports import JobKind
from services.threads.application.proposals import Proposals
from services.threads.application.queries import Queries
from services.threads.application.runners import Runners
from services.threads.application.sweeping import Sweeper
from services.threads.settings import ThreadsSettings
from services.threads.transport.catalogue import CatalogServicer
from services.threads.transport.jobs import JobServicer
from services.threads.transport.threads import ThreadServicer
from treadle.threads.v1.catalog_service_pb2_grpc import add_CatalogServiceServicer_to_server
from treadle.threads.v1.job_service_pb2_grpc import add_JobServiceServicer_to_server
from treadle.threads.v1.thread_service_pb2_grpc import add_ThreadServiceServicer_to_server


async def build(settings: ThreadsSettings, life: Lifecycle) -> Bound:
    """Database and bus; commands, queries and runners over them; relay, sweeper and pings as duties;
    three services.
    """
    clock, timing = SystemClock(), settings.timing()
    database = await Database.open(
        settings.threads_database_url,
        "threads",
        min_size=settings.pool_min,
        max_size=settings.pool_max,
        patience=30,
    )
    life.push(database.close)
    bus = await Bus.connect(settings.nats_url, "threads")
    life.push(bus.close)

    wake, schemas = BusWake(bus), JsonSchemas()
    store = PostgresStore(database, new_id, timing.lease)
    commands = Commands(store, wake, clock, new_id, schemas, timing)
    queries = Queries(PostgresReader(database), clock)
    families = Families(store, wake, commands, timing)
    groups = Groups(store, wake, commands, timing)
    proposals = Proposals(store, wake, commands, schemas)
    runners = Runners(store, wake, commands, schemas, timing)
    sweeper = Sweeper(store, wake, commands, clock, timing)

    life.spawn("relay", Relay(database, bus, "threads").run)
    life.spawn("wake", wake.run)
    life.spawn("sweeper", lambda: sweeper.run(settings.sweep_seconds))
    life.spawn("gauges", lambda: count_jobs(database, "threads", JobKind))
    life.spawn("purge", lambda: idempotency.purge_forever(database, clock, timedelta(hours=1)))

    servicer = ThreadServicer(
        commands, queries, Batches(store), families, groups, proposals, settings.page_signing_key(), clock, new_id
    )
    server = GrpcServer(
        "threads",
        settings.listen,
        [
            (add_ThreadServiceServicer_to_server, servicer, "treadle.threads.v1.ThreadService"),
            (add_JobServiceServicer_to_server, JobServicer(runners), "treadle.threads.v1.JobService"),
            (
                add_CatalogServiceServicer_to_server,
                CatalogServicer(commands, queries),
                "treadle.threads.v1.CatalogService",
            ),
        ],
        Authenticator(settings.secret(), clock),
    )
    address = await server.start()
    life.push(lambda: server.stop(settings.drain_seconds / 2))
    life.on_drain(server.not_serving)
    life.on_drain(runners.drained)
    return Bound("threads", address)
