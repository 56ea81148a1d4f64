"""The API under `/api/`: finds the route, lets the caller in, and hands over to the unary or the stream endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from gateway.auth import Door
from gateway.edge import ROUTE
from gateway.http import GOOD_FOR, Receive, Scope, Send
from gateway.refusals import NoRoute, WrongMethod
from gateway.transcode.http_rules import Route
from gateway.transcode.router import Router
from services.kernel.principal import Principal


class Endpoint(Protocol):
    """Serves one route to a caller who was let in. Refusals are raised until the answer has begun."""

    async def serve(
        self, scope: Scope, receive: Receive, send: Send, segments: list[str], principal: Principal
    ) -> None:
        """Answers one request; `segments` are the decoded segments of its path."""
        ...


class Api:
    """All annotated RPCs."""

    def __init__(self, endpoints: Iterable[tuple[Route, Endpoint]], door: Door) -> None:
        pairs = list(endpoints)
        self._router = Router(route for route, _ in pairs)
        self._endpoints: Mapping[Route, Endpoint] = dict(pairs)
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request under `/api/`."""
        match = self._router.match(scope["raw_path"])
        if match is None:
            raise NoRoute("ROUTE_NOT_FOUND", "nothing is served at this path")
        route = self._pick(match.routes, scope["method"])
        scope[ROUTE] = route.template
        principal = self._door.enter(scope, cookies=True)
        if route.streaming:
            scope[GOOD_FOR] = self._door.good_for()
        await self._endpoints[route].serve(scope, receive, send, match.segments, principal)

    def _pick(self, routes: dict[str, Route], method: str) -> Route:
        route = routes.get(method)
        if route is None and method == "HEAD":
            route = routes.get("GET")
            route = None if route is None or route.streaming else route
        if route is None:
            allow = ", ".join(sorted(routes))
            raise WrongMethod("METHOD_NOT_ALLOWED", f"this path allows {allow}", {"allow": allow})
        return route
