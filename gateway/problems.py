"""Problem documents (RFC 9457): the one table from refusals to HTTP statuses. Nothing of an exception's text leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import grpc
import orjson

from gateway.refusals import HttpRefusal
from services.kernel import errors
from services.kernel.grpc_errors import DETAILS_KEY, refusal_from
from services.kernel.text import encodable

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:treadle:problem:"
_RETRY_AFTER: Final = {429: "1", 503: "1"}

# Most specific first (design/gateway.md: these codes win over codes named elsewhere).
_TABLE: Final[tuple[tuple[type[errors.Refusal], int], ...]] = (
    (errors.Invalid, 400),
    (errors.Compacted, 400),
    (errors.Unauthenticated, 401),
    (errors.Denied, 403),
    (errors.NotFound, 404),
    (errors.AlreadyExists, 409),
    (errors.NotAllowed, 409),
    (errors.Conflict, 409),
    (errors.TooLarge, 413),
    (errors.Exhausted, 429),
    (errors.Unavailable, 503),
    (errors.DeadlineExceeded, 504),
)
_PLAIN: Final = {
    400: "the request is not valid",
    401: "the caller is not known",
    403: "the caller may not do this",
    404: "there is no such resource",
    409: "the current state does not allow it",
    413: "too large for one message",
    429: "a limit is used up: try again later",
    503: "the service cannot be reached now: try again",
    504: "the call took too long",
}
"""What is said where the status came from the transport and not from a service of ours: its text may name hosts."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One answer that is not a success."""

    status: int
    reason: str
    detail: str
    metadata: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def body(self, request_id: str) -> bytes:
        """The document. `state` is the resource's current state, where the refusal knows it."""
        document: dict[str, Any] = {
            "type": TYPE_PREFIX + self.reason.lower(),
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": encodable(self.detail),
            "reason": self.reason,
            "metadata": {encodable(key): encodable(value) for key, value in self.metadata.items()},
            "request_id": request_id,
        }
        if "state" in self.metadata:
            document["state"] = self.metadata["state"]
        return orjson.dumps(document)


MASKED: Final = Problem(500, "INTERNAL", "internal error")
"""All that is told of a bug; the log has the rest."""


def of_refusal(refusal: errors.Refusal, *, if_match: bool = False) -> Problem:
    """The problem of a refusal. `if_match`: the etag came in that header, so a mismatch is 412 and not 409."""
    headers = dict(refusal.headers) if isinstance(refusal, HttpRefusal) else {}
    status = _status(refusal)
    if if_match and isinstance(refusal, errors.EtagMismatch):
        status = 412
    if status == 401:
        headers.setdefault("www-authenticate", "Bearer")
    if status in _RETRY_AFTER:
        headers.setdefault("retry-after", _RETRY_AFTER[status])
    return Problem(status, refusal.reason, refusal.message, refusal.metadata, headers)


def of_rpc(error: grpc.RpcError, *, if_match: bool = False) -> Problem:
    """The problem of a call that failed."""
    if error.code() is grpc.StatusCode.CANCELLED:
        return of_refusal(errors.Unavailable("UNAVAILABLE", _PLAIN[503]))
    refusal = refusal_from(error)
    if refusal is None:
        return MASKED
    metadata: Any = error.trailing_metadata() or ()
    if not any(key == DETAILS_KEY for key, _ in metadata):  # no ErrorInfo: not a service of ours that speaks
        kind = errors.TooLarge if isinstance(refusal, errors.Exhausted) else type(refusal)
        refusal = kind(refusal.reason, _PLAIN[_status(kind(refusal.reason, ""))])
    return of_refusal(refusal, if_match=if_match)


def of_status(status: int) -> Problem:
    """The problem of a bare status, where no refusal says more."""
    reason = "ROUTE_NOT_FOUND" if status == 404 else HTTPStatus(status).name
    return Problem(status, reason, "nothing is served here in this way")


def _status(refusal: errors.Refusal) -> int:
    if isinstance(refusal, HttpRefusal):
        return refusal.status
    return next((status for kind, status in _TABLE if isinstance(refusal, kind)), 500)
