"""The composition root of the coordination service."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import grpc

from services.coordination.adapters.conversations import StreamingConversations
from services.coordination.adapters.errands import PostgresErrands
from services.coordination.adapters.injection_rows import PostgresInjections
from services.coordination.adapters.job_rows import PostgresRuns, PostgresRunWorkshop
from services.coordination.adapters.purging import purge_forever
from services.coordination.adapters.reads import PostgresReads
from services.coordination.adapters.report_rows import PostgresMailbox, PostgresRoll
from services.coordination.adapters.sayings import StreamingSayings
from services.coordination.adapters.session_facts import CONSUMER, SUBJECTS, SessionFacts
from services.coordination.adapters.streaming_client import StreamingClient
from services.coordination.adapters.wake import Wake
from services.coordination.adapters.work import JOB_KIND, PostgresWorkshop
from services.coordination.application.aborting import Aborting
from services.coordination.application.cancelling import Cancelling
from services.coordination.application.collecting import Collecting
from services.coordination.application.expiring import Expiring
from services.coordination.application.forcing import Forcing
from services.coordination.application.hearing import Hearing
from services.coordination.application.injecting import Injecting
from services.coordination.application.last_words import LastWords
from services.coordination.application.noting import Noting
from services.coordination.application.reconciling import Reconciling
from services.coordination.application.registering import Registering
from services.coordination.application.reporting import Reporting
from services.coordination.application.roster import Roster
from services.coordination.application.running import Running
from services.coordination.application.spawning import Spawning
from services.coordination.application.statuses import Statuses
from services.coordination.application.thread_mode import ThreadMode
from services.coordination.application.waiting import Waiting
from services.coordination.application.waking import Waking
from services.coordination.application.watching import Watches
from services.coordination.settings import CoordinationSettings
from services.coordination.transport.jobs import JobServicer, agent_token
from services.coordination.transport.servicer import CoordinationServicer
from services.kernel import idempotency
from services.kernel.bus import Bus
from services.kernel.clock import Clock, SystemClock
from services.kernel.grpc_client import open_channel
from services.kernel.grpc_server import GrpcServer
from services.kernel.ids import new_id
from services.kernel.inbox import Inbox
from services.kernel.job_gauge import count_jobs
from services.kernel.lifecycle import Bound, Lifecycle
from services.kernel.postgres import Database
from services.kernel.principal import Authenticator
from services.kernel.relay import Relay
from services.kernel.service_tokens import ServiceTokens
from treadle.coordination.v1.coordination_service_pb2_grpc import add_CoordinationServiceServicer_to_server
from treadle.coordination.v1.job_service_pb2_grpc import add_JobServiceServicer_to_server


async def build(settings: CoordinationSettings, life: Lifecycle) -> Bound:
    """Database, bus and streaming; the runs of workers and the duties around them; the service over all of it."""
    clock = SystemClock()
    database = await Database.open(
        settings.coordination_database_url,
        "coordination",
        min_size=settings.pool_min,
        max_size=settings.pool_max,
        patience=30,
    )
    life.push(database.close)
    bus = await Bus.connect(settings.nats_url, "coordination")
    life.push(bus.close)
    streaming = open_channel(settings.streaming_target)
    life.push(lambda: streaming.close(None))

    wake = Wake(bus)
    authenticator = Authenticator(settings.secret(), clock)
    tokens = ServiceTokens("coordination", authenticator, clock)
    roll = PostgresRoll(database, PostgresReads(database))
    watches = Watches(roll, wake)
    sessions = StreamingClient(streaming, tokens)
    last_words = LastWords(sessions)
    runs, workshop = PostgresRuns(database), PostgresRunWorkshop(database, wake)
    lease = timedelta(seconds=settings.worker_lease_seconds)
    running = Running(runs, workshop, last_words, wake, clock, lease)
    errands = PostgresErrands(database)
    facts = SessionFacts(Hearing(clock), wake)

    life.spawn("reconciler", Reconciling(runs, workshop, sessions, clock).run)
    life.spawn("expiring", Expiring(runs, workshop, clock).run)
    life.spawn("forcing", Forcing(runs, workshop, last_words, clock).run)
    life.spawn("aborting", Aborting(errands, sessions, wake, clock).run)
    life.spawn("waking", Waking(errands, sessions, wake, clock).run)
    life.spawn("inbox", Inbox(database, bus, CONSUMER, SUBJECTS, facts.handle, facts.after).run)
    life.spawn("purge_runs", lambda: purge_forever(database, timedelta(days=settings.deleted_days)))
    life.spawn("gauges", lambda: count_jobs(database, "coordination", [JOB_KIND]))
    life.spawn("relay", Relay(database, bus, "coordination").run)
    life.spawn("purge", lambda: idempotency.purge_forever(database, clock, timedelta(hours=1)))

    server = GrpcServer(
        "coordination",
        settings.listen,
        [
            (
                add_CoordinationServiceServicer_to_server,
                _servicer(settings, database, wake, Waiting(roll, watches), streaming, tokens, clock),
                "treadle.coordination.v1.CoordinationService",
            ),
            (
                add_JobServiceServicer_to_server,
                JobServicer(running, partial(agent_token, authenticator)),
                "treadle.coordination.v1.JobService",
            ),
        ],
        authenticator,
    )
    address = await server.start()
    life.push(lambda: server.stop(settings.drain_seconds / 2))
    life.on_drain(server.not_serving)
    life.on_drain(running.drained)
    life.on_drain(watches.close)
    return Bound("coordination", address)


def _servicer(
    settings: CoordinationSettings,
    database: Database,
    wake: Wake,
    waiting: Waiting,
    streaming: grpc.aio.Channel,
    tokens: ServiceTokens,
    clock: Clock,
) -> CoordinationServicer:
    """What is done to coordinators and workers, and read of them."""
    workshop, reads = PostgresWorkshop(database, wake), PostgresReads(database)
    conversations = StreamingConversations(streaming)
    return CoordinationServicer(
        ThreadMode(workshop, clock),
        Registering(workshop, clock, new_id),
        Roster(reads),
        Spawning(workshop, conversations, clock, new_id, settings.worker_adapter),
        Cancelling(workshop, clock),
        Statuses(workshop, clock),
        Noting(workshop, reads, clock),
        Collecting(PostgresMailbox(database), StreamingSayings(streaming, tokens)),
        waiting,
        Reporting(workshop, clock),
        Injecting(PostgresInjections(database), conversations, clock),
        settings.page_signing_key(),
    )
