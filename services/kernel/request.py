"""What is known of the call under way: its id, its caller, its deadline. Carried in a context variable."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from services.kernel.ids import new_id
from services.kernel.principal import Principal

REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
REQUEST_ID_KEY: Final = "x-request-id"
AUTHORIZATION_KEY: Final = "authorization"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One call. `authorization` is what the caller sent, forwarded to the next service, which verifies again."""

    request_id: str
    principal: Principal
    authorization: str | None = None


_current: ContextVar[RequestContext | None] = ContextVar("treadle_request", default=None)


def enter(context: RequestContext) -> None:
    """Makes it the call under way in this task."""
    _current.set(context)


def current() -> RequestContext | None:
    """The call under way; None in background duties."""
    return _current.get()


def current_principal() -> Principal:
    """The verified caller. Only inside a call: a LookupError elsewhere is a bug."""
    context = _current.get()
    if context is None:
        raise LookupError("no call is under way in this task")
    return context.principal


def canonical_request_id(given: str | None) -> str:
    """The caller's request id when it is well-formed, else a new one."""
    return given if given and REQUEST_ID.fullmatch(given) else new_id("req")
