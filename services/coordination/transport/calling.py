"""A request as a command: on which session, by whom, and what is the same request."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from services.coordination.application.acting import Command
from services.coordination.transport.access import caller_for
from services.kernel.idempotency import body_digest


class _Request(Protocol):
    request_id: str

    def CopyFrom(self, other: Any) -> None: ...

    def SerializeToString(self, *, deterministic: bool = ...) -> bytes: ...


_R = TypeVar("_R", bound=_Request)


def command(request: _R, roles: tuple[str, ...], session_id: str) -> Command:
    """The command of a caller that has one of the roles; an agent acts for its own session alone."""
    return Command(caller_for(roles, session_id), session_id, request.request_id, digest_of(request))


def digest_of(request: _R) -> bytes:
    """Digest of the request without its idempotency key."""
    body = type(request)()
    body.CopyFrom(request)
    body.request_id = ""
    return body_digest(body.SerializeToString(deterministic=True))
