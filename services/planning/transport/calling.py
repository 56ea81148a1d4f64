"""A request as a command: who, on which session, under which idempotency key."""

from __future__ import annotations

from typing import Any

from services.kernel.idempotency import body_digest
from services.planning.application.acting import Command
from services.planning.transport.access import caller_for


def command(request: Any, session_id: str, roles: tuple[str, ...]) -> Command:
    """The caller's command. The digest leaves out the request_id."""
    principal = caller_for(roles, session_id)
    body = type(request)()
    body.CopyFrom(request)
    body.request_id = ""
    digest = body_digest(body.SerializeToString(deterministic=True))
    return Command(principal, session_id, request.request_id, digest, getattr(request, "turn_id", ""))


def given(request: Any, field: str) -> Any:
    """An optional field's value; None where it is not set."""
    return getattr(request, field) if request.HasField(field) else None
