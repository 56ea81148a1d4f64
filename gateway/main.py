"""Builds the gateway: the one place that names every concrete class (style.md, rule 3)."""

from __future__ import annotations

from google.protobuf import message_factory

from gateway.app import make_app
from gateway.auth import Door
from gateway.clients import Clients
from gateway.contexts import services
from gateway.limits import Limits
from gateway.login import LoginEndpoint
from gateway.mcp.calling import ToolCalls
from gateway.mcp.context_resource import ContextResource
from gateway.mcp.endpoint import McpEndpoint
from gateway.mcp.server import McpServer
from gateway.mcp.tools import tools_of
from gateway.open_calls import OpenCalls
from gateway.openapi.document import document
from gateway.openapi.pages import DocumentPages
from gateway.readiness import Readiness
from gateway.rest import Api, Endpoint
from gateway.server import HttpServer
from gateway.settings import GatewaySettings
from gateway.sse.endpoint import StreamEndpoint
from gateway.sse.messages import MessagesEndpoint
from gateway.sse.streams import Streams
from gateway.transcode.http_rules import Route, routes_of
from gateway.unary import UnaryEndpoint
from services.kernel import telemetry
from services.kernel.clock import SystemClock
from services.kernel.lifecycle import Bound, Lifecycle
from services.kernel.principal import Authenticator

_log = telemetry.get_logger("gateway")
_ACCEPT_SECONDS = 10.0
"""How long a stream may wait for its service before 503; not longer than a request."""


async def build(settings: GatewaySettings, life: Lifecycle) -> Bound:
    """Listens and answers; nothing is asked of the services before the first request."""
    clock = SystemClock()
    authenticator = Authenticator(settings.secret(), clock)
    host, port = settings.bind()

    clients = Clients(settings.targets())
    life.push(clients.close)
    limits = Limits(settings.gateway_rate_per_second, settings.gateway_open_streams)
    streams = Streams(settings.sse_keepalive_seconds, settings.sse_linger_seconds)
    life.spawn("sse-keepalive", streams.hubs.run)
    readiness = Readiness(clients.channels)
    calls = OpenCalls()
    door = Door(authenticator, limits, clock)

    routes = routes_of(services())
    endpoints = [(route, _endpoint(route, settings, clients, streams, limits, calls)) for route in routes]
    app = make_app(
        Api(endpoints, door),
        await _mcp(settings, life, clients, door, limits, calls),
        LoginEndpoint(authenticator, door, clock, settings.gateway_deadline_seconds),
        readiness,
        DocumentPages(document(routes)),
        settings.console_dist,
        guard_hosts=settings.allowed_hosts() if authenticator.open else None,
        cors_origins=settings.cors_origins(),
    )
    server = HttpServer(
        app, host, port, head_seconds=settings.gateway_head_seconds, drain_seconds=settings.drain_seconds
    )
    address = await server.start()
    if authenticator.open:
        _log.info("gateway.open", note="no TREADLE_AUTH_SECRET: everybody on this machine is the local user")

    life.on_drain(readiness.drain)
    life.on_drain(streams.hubs.close)
    life.on_drain(calls.close)
    life.on_drain(server.stop)
    return Bound("gateway", address)


def _endpoint(
    route: Route, settings: GatewaySettings, clients: Clients, streams: Streams, limits: Limits, calls: OpenCalls
) -> Endpoint:
    if not route.streaming:
        call = clients.unary(route)
        return UnaryEndpoint(route, call, settings.gateway_body_bytes, settings.gateway_deadline_seconds)
    if not route.feed:
        return MessagesEndpoint(route, clients.stream(route), limits, calls, settings.sse_keepalive_seconds)
    streams.register(route.rpc, clients.stream(route), message_factory.GetMessageClass(route.request))
    accept = min(_ACCEPT_SECONDS, settings.gateway_deadline_seconds)
    return StreamEndpoint(route, streams, limits, accept, settings.sse_retry_milliseconds)


async def _mcp(
    settings: GatewaySettings, life: Lifecycle, clients: Clients, door: Door, limits: Limits, calls: OpenCalls
) -> McpEndpoint:
    tools, deadline = tools_of(services()), settings.gateway_deadline_seconds
    most = settings.gateway_body_bytes
    server = McpServer(tools, ToolCalls(tools, clients, deadline), ContextResource(clients, deadline), calls, most)
    await server.start()
    life.push(server.stop)
    return McpEndpoint(server, door, limits, most, deadline)
