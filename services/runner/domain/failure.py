"""Why a piece of work ended without a result: a stable code for people, a detail for the log only (I8)."""

from __future__ import annotations

from enum import StrEnum

from services.kernel.text import storable

DETAIL_BYTES = 16 * 1024
"""FailJob takes at most 16 KiB of detail (protos/treadle/threads/v1/job_service.proto)."""


class Code(StrEnum):
    """The codes that people see. They are stable: consoles and scripts match on them."""

    ACTION_FAILED = "action_failed"
    ACTION_DISABLED = "action_disabled"
    CANCELLED = "cancelled"
    CHILD_EXIT = "child_exit"
    DISK_FULL = "disk_full"
    FILE_BUSY = "file_busy"
    HOST_NOT_ALLOWED = "host_not_allowed"
    HTTP_STATUS = "http_status"
    INVALID_PARAMETERS = "invalid_parameters"
    INVALID_PAYLOAD = "invalid_payload"
    NOT_READABLE = "not_readable"
    NOT_WRITABLE = "not_writable"
    PATH_REFUSED = "path_refused"
    PROTOCOL_ERROR = "protocol_error"
    PROVIDER_ERROR = "provider_error"
    REDIRECT_REFUSED = "redirect_refused"
    RESULT_REFUSED = "result_refused"
    RUNNER_STOPPED = "runner_stopped"
    START_FAILED = "start_failed"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    UNKNOWN_ACTION = "unknown_action"
    UNKNOWN_SOURCE = "unknown_source"
    UNREACHABLE = "unreachable"


class Failed(Exception):
    """The work failed in a way that has a name.

    `detail` goes to the service's log and to the role admin, never to a browser. `retryable` says whether another
    attempt may help; it counts for inference only, an execution happens at most once (design/threads.md §0.9).
    """

    def __init__(self, code: Code, detail: str = "", *, retryable: bool = False) -> None:
        super().__init__(f"{code}: {detail}" if detail else str(code))
        self.code = code
        self.detail = detail
        self.retryable = retryable


def fit_detail(detail: str) -> str:
    """The detail in at most 16 KiB of UTF-8; what is cut is said, lone surrogates become U+FFFD (PUB22)."""
    encoded = storable(detail).encode("utf-8")
    if len(encoded) <= DETAIL_BYTES:
        return encoded.decode("utf-8")
    note = f" […cut, {len(encoded)} bytes in all]"
    kept = encoded[: DETAIL_BYTES - len(note.encode())].decode("utf-8", "ignore")
    return kept + note
