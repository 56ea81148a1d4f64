"""Refusals that only HTTP knows: the request never reached a service."""

from __future__ import annotations

from services.kernel.errors import Refusal


class HttpRefusal(Refusal):
    """A refusal with an HTTP status of its own, and headers that the answer must carry."""

    status = 400

    def __init__(self, reason: str, message: str, headers: dict[str, str] | None = None, **metadata: object) -> None:
        super().__init__(reason, message, **metadata)
        self.headers = headers or {}


class NoRoute(HttpRefusal):
    """Nothing is served at this path."""

    status = 404


class WrongMethod(HttpRefusal):
    """Something is served here, by other methods (header `Allow`)."""

    status = 405


class WrongMediaType(HttpRefusal):
    """A body that does not say that it is JSON."""

    status = 415


class SlowBody(HttpRefusal):
    """The body did not arrive in time."""

    status = 408


class Misdirected(HttpRefusal):
    """A Host that is not ours: DNS rebinding, most likely."""

    status = 421


class TooManyRequests(HttpRefusal):
    """A limit of this caller (header `Retry-After`, seconds)."""

    status = 429
