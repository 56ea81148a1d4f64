"""Refusals: what a caller may be told. Types with a reason and data, without gRPC (design/style.md, rule 7).

A bug is not a refusal: it propagates, is logged whole and leaves the process masked.
"""

from __future__ import annotations

from services.kernel.text import encodable


class Refusal(Exception):
    """A command or query that was refused and changed nothing (I7).

    `reason` is UPPER_SNAKE and stable (it becomes ErrorInfo.reason); `message` is safe for any reader;
    keyword arguments become ErrorInfo.metadata, values as strings.
    """

    def __init__(self, reason: str, message: str, /, **metadata: object) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata = {key: encodable(str(value)) for key, value in metadata.items() if value is not None}


class Invalid(Refusal):
    """The request itself is wrong, whatever the state (INVALID_ARGUMENT). Name the field and the limit."""


class NotFound(Refusal):
    """No such resource for this tenant (NOT_FOUND)."""


class AlreadyExists(Refusal):
    """A unique name or an idempotency key is taken by something else (ALREADY_EXISTS)."""


class NotAllowed(Refusal):
    """The current state does not allow it (FAILED_PRECONDITION); metadata carries the state."""


class Conflict(Refusal):
    """Somebody else was first (ABORTED); metadata says who, when and what. Re-read before trying again."""


class EtagMismatch(Conflict):
    """The caller's etag is not the current one (ABORTED; 412 on REST)."""


class Compacted(Refusal):
    """The position asked for is gone (OUT_OF_RANGE)."""


class Exhausted(Refusal):
    """A quota, budget or buffer is used up (RESOURCE_EXHAUSTED; 429 on REST)."""


class TooLarge(Exhausted):
    """The body or one of its values is larger than may be stored (RESOURCE_EXHAUSTED; 413 on REST)."""


class Denied(Refusal):
    """The caller is known and may not (PERMISSION_DENIED)."""


class Unauthenticated(Refusal):
    """The caller is not known (UNAUTHENTICATED)."""


class Unavailable(Refusal):
    """Not now, try again: the only refusal that is retried blindly (UNAVAILABLE, AIP-194)."""


class DeadlineExceeded(Refusal):
    """The work did not fit in the caller's deadline (DEADLINE_EXCEEDED)."""
