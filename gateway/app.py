"""The application: what is served at which path, and the layers around it, outermost first."""

from __future__ import annotations

from pathlib import Path

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Mount, Route, Router

from gateway.console_files import ConsoleFiles
from gateway.edge import Edge
from gateway.http import App, Receive, Scope, Send
from gateway.login import PATH as LOGIN_PATH
from gateway.login import LoginEndpoint
from gateway.mcp.endpoint import PATH as MCP_PATH
from gateway.mcp.endpoint import McpEndpoint
from gateway.metrics import metrics
from gateway.openapi.pages import DocumentPages
from gateway.origin import OriginGuard
from gateway.readiness import Readiness
from gateway.refusals import NoRoute
from gateway.rest import Api

_ALLOWED = [
    *("authorization", "content-type", "idempotency-key", "if-match", "last-event-id", "x-request-id"),
    *("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"),
]
_EXPOSED = ["etag", "x-request-id", "retry-after"]
_VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def make_app(
    api: Api,
    mcp: McpEndpoint,
    login: LoginEndpoint,
    readiness: Readiness,
    pages: DocumentPages,
    console: Path,
    *,
    guard_hosts: frozenset[str] | None,
    cors_origins: frozenset[str],
) -> App:
    """The whole ASGI application. `guard_hosts`: names besides loopback ones; None where a secret is configured."""
    routes: list[BaseRoute] = [
        Route("/healthz", readiness.healthz),
        Route("/readyz", readiness.readyz),
        Route("/metrics", metrics),
        *pages.routes(),
        Mount("/api", app=api),
        Route(MCP_PATH, endpoint=mcp),
        Route(LOGIN_PATH, endpoint=login),
        Mount("/.well-known", app=_nothing),
        Mount("/", app=ConsoleFiles(console)),
    ]
    app: App = Router(routes=routes, redirect_slashes=False, default=_nothing)
    if cors_origins:
        app = CORSMiddleware(
            app,
            allow_origins=sorted(cors_origins),
            allow_methods=_VERBS,
            allow_headers=_ALLOWED,
            expose_headers=_EXPOSED,
        )
    if guard_hosts is not None:
        app = OriginGuard(app, guard_hosts, cors_origins)
    return Edge(app)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """No page of the console: clients that look for an authorization server, paths with line ends in them."""
    raise NoRoute("ROUTE_NOT_FOUND", "nothing is served at this path")
