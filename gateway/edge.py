"""The outermost layer: request id, security headers, masked errors, access log and metrics for every request."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import Any, Final

from starlette.exceptions import HTTPException

from gateway import problems
from gateway.http import REQUEST_ID, App, Disconnected, Receive, Scope, Send, answer_problem, header
from gateway.metrics import HTTP_SECONDS
from services.kernel import telemetry
from services.kernel.errors import Refusal
from services.kernel.request import canonical_request_id

_log = telemetry.get_logger("gateway")

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""No inline script or style, nothing from elsewhere, no frame: for pages and for answers alike."""
_SECURITY: Final = [
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
ROUTE: Final = "treadle.route"
"""Where an endpoint leaves its path template, for the log and the metrics (a raw path would be a label of its own)."""


class Edge:
    """Wraps the whole application."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; other protocols (websocket, lifespan) pass by untouched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[REQUEST_ID] = canonical_request_id(header(scope, b"x-request-id"))
        call = _Call(scope, send)
        try:
            await self._app(scope, receive, call.send)
        except Disconnected:
            call.status = call.status or 499
        except Refusal as refusal:
            await call.give(problems.of_refusal(refusal))
        except HTTPException as refused:  # Starlette's own: no such file, a method that a page does not take
            await call.give(problems.of_status(refused.status_code))
        except Exception as fault:
            _log.error("http.failed", request_id=scope[REQUEST_ID], route=call.route(), exc_info=fault)
            await call.give(problems.MASKED)
        finally:
            call.end()


class _Call:
    """One request's way out."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._begin = time.perf_counter()
        self.status = 0

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Adds the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            request_id = (b"x-request-id", self._scope[REQUEST_ID].encode())
            message["headers"] = [*message.get("headers", ()), *_SECURITY, request_id]
        await self._send(message)

    async def give(self, problem: problems.Problem) -> None:
        """Answers with a problem; a raised one after the answer began can only be a cut connection."""
        if self.status:
            raise ConnectionAbortedError("the answer had begun")
        await answer_problem(self._scope, self.send, problem)

    def route(self) -> str:
        """The path template, or what kind of path it was."""
        return str(self._scope.get(ROUTE, "other"))

    def end(self) -> None:
        """Counts and logs: answered requests for those who debug, refused ones always."""
        seconds = time.perf_counter() - self._begin
        HTTP_SECONDS.labels(self._scope["method"], self.route(), str(self.status)).observe(seconds)
        log = _log.debug if self.status < 400 else _log.info
        log(
            "http",
            method=self._scope["method"],
            route=self.route(),
            status=self.status,
            seconds=round(seconds, 6),
            request_id=self._scope[REQUEST_ID],
        )
