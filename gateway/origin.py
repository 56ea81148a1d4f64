"""Who may call from a browser when no secret is configured: this machine's own pages, nobody else's.

Without it any web page could post to a loopback gateway (cross-site requests), or read from it under a name that it
had made to point here (DNS rebinding). With a secret a request is nothing without its bearer token, or a browser's
cookie, which asks for the same witnesses (gateway.browser_session).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from gateway.http import App, Receive, Scope, Send, header
from gateway.refusals import Misdirected
from services.kernel.errors import Denied

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""


class OriginGuard:
    """Refuses foreign Hosts, and changing requests of foreign origins."""

    def __init__(self, app: App, allowed_hosts: frozenset[str], allowed_origins: frozenset[str]) -> None:
        self._app = app
        self._hosts = _LOOPBACK | allowed_hosts
        self._origins = allowed_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks, then passes on."""
        if scope["type"] == "http":
            host = header(scope, b"host") or ""
            if host_name(host) not in self._hosts:
                raise Misdirected("HOST_NOT_ALLOWED", "this gateway does not answer under that Host", field="Host")
            if scope["method"] not in SAFE and is_foreign(scope, self._origins):
                raise Denied("ORIGIN_NOT_ALLOWED", "this request comes from a foreign origin", field="Origin")
        await self._app(scope, receive, send)


def is_foreign(scope: Scope, allowed_origins: frozenset[str]) -> bool:
    """Whether the request says that a page of another origin made it."""
    origin = header(scope, b"origin")
    if origin is None:
        # Browsers send Origin with every changing request; Sec-Fetch-Site is the second witness.
        return header(scope, b"sec-fetch-site") in ("cross-site", "same-site")
    return origin.lower() not in allowed_origins and _authority(origin) != (header(scope, b"host") or "").lower()


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, lower case; "" when it is malformed."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a bind address is this machine's own."""
    return host in _LOOPBACK or host.startswith("127.")


def _authority(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""
