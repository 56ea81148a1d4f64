"""The composition root of the streaming service."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from services.kernel import frames, idempotency, streams
from services.kernel.bus import Bus
from services.kernel.clock import SystemClock
from services.kernel.grpc_client import open_channel
from services.kernel.grpc_server import GrpcServer
from services.kernel.hubs import Hubs
from services.kernel.ids import new_id
from services.kernel.inbox import Inbox
from services.kernel.job_gauge import count_jobs
from services.kernel.lifecycle import Bound, Lifecycle
from services.kernel.paging import PageTokens
from services.kernel.postgres import Database
from services.kernel.principal import Authenticator
from services.kernel.relay import Relay
from services.kernel.service_tokens import ServiceTokens
from services.streaming.adapters import worker_results
from services.streaming.adapters.agent_rows import PostgresAgents
from services.streaming.adapters.domain_feed import DomainFeed
from services.streaming.adapters.epochs import next_epoch
from services.streaming.adapters.feed_source import FeedSource
from services.streaming.adapters.fork_rows import PostgresForks
from services.streaming.adapters.plan_rows import PostgresPlanRows
from services.streaming.adapters.planning import PlanningClient
from services.streaming.adapters.postgres import PostgresSessions
from services.streaming.adapters.records import PostgresRecords
from services.streaming.adapters.session_log import JetStreamSessionLog
from services.streaming.adapters.session_source import SessionSource
from services.streaming.adapters.wake import Wake
from services.streaming.adapters.work import PostgresWorkshop
from services.streaming.application import purging
from services.streaming.application.agents import AgentSide
from services.streaming.application.appenders import Appenders
from services.streaming.application.attaching import Attaching
from services.streaming.application.driving import Driving
from services.streaming.application.forking import Forking
from services.streaming.application.gating import Gating
from services.streaming.application.ports import FeedKey, SessionKey
from services.streaming.application.resuming import Resuming
from services.streaming.application.sessions import SWEEP_SUBJECT, Sessions
from services.streaming.application.starting import Starting
from services.streaming.application.turning import Turning
from services.streaming.application.working import Working
from services.streaming.application.workspaces import WorkspaceDuty
from services.streaming.settings import StreamingSettings
from services.streaming.transport.feeds import FeedServicer
from services.streaming.transport.forks import ForkServicer
from services.streaming.transport.jobs import JobServicer
from services.streaming.transport.runners import RunnerServicer
from services.streaming.transport.sessions import SessionServicer
from services.streaming.transport.turning import agent_token
from treadle.streaming.v1.feed_service_pb2_grpc import add_FeedServiceServicer_to_server
from treadle.streaming.v1.fork_service_pb2_grpc import add_ForkServiceServicer_to_server
from treadle.streaming.v1.job_service_pb2_grpc import add_JobServiceServicer_to_server
from treadle.streaming.v1.runner_service_pb2_grpc import add_RunnerServiceServicer_to_server
from treadle.streaming.v1.session_service_pb2_grpc import add_SessionServiceServicer_to_server

_PURGE_SECONDS = 60.0


async def build(settings: StreamingSettings, life: Lifecycle) -> Bound:
    """Database and bus; the log and its appenders; the hubs of sessions and of facts; three services over them."""
    clock = SystemClock()
    database = await Database.open(
        settings.streaming_database_url,
        "streaming",
        min_size=settings.pool_min,
        max_size=settings.pool_max,
        patience=30,
    )
    life.push(database.close)
    bus = await Bus.connect(settings.nats_url, "streaming")
    life.push(bus.close)

    async def ensure_domain() -> streams.StreamState:
        return await streams.ensure_domain(
            bus, lambda: next_epoch(database), replicas=settings.stream_replicas, days=settings.domain_days
        )

    async def ensure_sessions() -> streams.StreamState:
        return await streams.ensure_sessions(bus, replicas=settings.stream_replicas)

    await streams.insist(ensure_sessions)
    await streams.insist(ensure_domain)

    tokens, authenticator = PageTokens(settings.page_signing_key(), "sessions"), Authenticator(settings.secret(), clock)
    plans = _plans(settings, life, ServiceTokens("streaming", authenticator, clock))
    store = PostgresSessions(database, workspaces=plans is not None)
    log = JetStreamSessionLog(bus, ensure_sessions)
    appenders = Appenders(log, store)
    wake = Wake(bus, appenders)
    life.push(wake.close)
    workshop = PostgresWorkshop(database, wake)
    rows = PostgresAgents(database, timedelta(seconds=settings.session_lease_seconds))
    gating = Gating(workshop, clock, new_id)
    agents = AgentSide(workshop, rows, log, gating, clock, settings.unclaimed_seconds)
    attaching = Attaching(appenders, store, agents)
    working = Working(rows, wake)
    plan_rows = PostgresPlanRows(database)
    workspaces = None if plans is None else WorkspaceDuty(plan_rows, plans)
    sessions = Sessions(store, appenders, bus, clock, new_id, workspaces)
    starting = Starting(workshop, plan_rows, plans, clock, new_id, settings.turn_start_seconds)
    turning = Turning(workshop, starting, clock)
    driving = Driving(workshop, starting, clock)
    forking = Forking(PostgresForks(database, wake), workshop, store, appenders, clock)
    resuming = Resuming(workshop, store, appenders, clock)

    feed = DomainFeed(bus, ensure_domain)
    of_session: Hubs[SessionKey] = Hubs(lambda key: SessionSource(bus, key), frames.data_of)
    of_facts: Hubs[FeedKey] = Hubs(lambda key: FeedSource(bus, feed, key), frames.data_of)

    async def sweep() -> None:
        async with bus.listen(SWEEP_SUBJECT) as bell:
            await appenders.sweep(bell)

    async def sweep_agents() -> None:
        async with wake.of_jobs() as bell:
            await agents.sweep(bell)

    results = Inbox(
        database,
        bus,
        worker_results.CONSUMER,
        worker_results.SUBJECTS,
        worker_results.tell,
        lambda: bus.ping(SWEEP_SUBJECT),
    )
    life.spawn("worker_results", results.run)
    life.spawn("sweep_agents", sweep_agents)
    life.spawn("sweep_starts", starting.sweep)
    if workspaces is not None:
        life.spawn("workspaces", workspaces.run)
    life.spawn("gauges", lambda: count_jobs(database, "streaming", ["session"], lambda _: "session"))
    life.spawn("purge_sessions", lambda: purging.purge_forever(rows, log, clock, _PURGE_SECONDS))
    life.spawn("relay", Relay(database, bus, "streaming").run)
    life.spawn("sweep", sweep)
    life.spawn("domain_feed", feed.run)
    life.spawn("idle_sessions", of_session.run)
    life.spawn("idle_facts", of_facts.run)
    life.spawn("purge", lambda: idempotency.purge_forever(database, clock, timedelta(hours=1)))

    records = PostgresRecords(database)
    server = GrpcServer(
        "streaming",
        settings.listen,
        [
            (
                add_SessionServiceServicer_to_server,
                SessionServicer(
                    sessions, turning, driving, resuming, gating, records, agents, tokens, authenticator, clock
                ),
                "treadle.streaming.v1.SessionService",
            ),
            (
                add_FeedServiceServicer_to_server,
                FeedServicer(sessions, of_session, of_facts),
                "treadle.streaming.v1.FeedService",
            ),
            (
                add_RunnerServiceServicer_to_server,
                RunnerServicer(attaching, agents, rows, wake),
                "treadle.streaming.v1.RunnerService",
            ),
            (
                add_ForkServiceServicer_to_server,
                ForkServicer(forking),
                "treadle.streaming.v1.ForkService",
            ),
            (
                add_JobServiceServicer_to_server,
                JobServicer(working, agents, partial(agent_token, authenticator)),
                "treadle.streaming.v1.JobService",
            ),
        ],
        authenticator,
    )
    address = await server.start()
    life.push(lambda: server.stop(settings.drain_seconds / 2))
    # Balancers first; then every stream is told and ended, so that nobody waits for them; then the server.
    life.on_drain(server.not_serving)
    life.on_drain(working.drained)
    life.on_drain(of_session.close)
    life.on_drain(of_facts.close)
    life.on_drain(attaching.close)
    return Bound("streaming", address)


def _plans(settings: StreamingSettings, life: Lifecycle, tokens: ServiceTokens) -> PlanningClient | None:
    """Planning, where it is to be asked."""
    if not settings.asks_planning:
        return None
    channel = open_channel(settings.planning_target)
    life.push(lambda: channel.close(None))
    return PlanningClient(channel, tokens)
