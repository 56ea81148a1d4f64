"""Exit codes of `treadle` and the failure that carries one. Scripts rely on them; they never change meaning."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """What a script may tell apart."""

    OK = 0
    REFUSED = 1
    """The state does not allow it, somebody else was first, or a check failed."""
    USAGE = 2
    """The command line or a value in it is wrong."""
    NOT_FOUND = 3
    UNAVAILABLE = 4
    """No Treadle answers there, or not in time: try again."""
    NOT_PERMITTED = 5
    """Who asks is not known, or may not."""
    FAULT = 6
    """A fault of Treadle itself; its log says which."""
    INTERRUPTED = 130


_BY_STATUS = {
    400: Exit.USAGE,
    401: Exit.NOT_PERMITTED,
    403: Exit.NOT_PERMITTED,
    404: Exit.NOT_FOUND,
    413: Exit.USAGE,
    415: Exit.USAGE,
    422: Exit.USAGE,
    429: Exit.UNAVAILABLE,
    503: Exit.UNAVAILABLE,
    504: Exit.UNAVAILABLE,
}


def exit_for_status(status: int) -> Exit:
    """The exit code of an HTTP status that is not a success."""
    return _BY_STATUS.get(status, Exit.FAULT if status >= 500 else Exit.REFUSED)


class CommandFailed(Exception):
    """Ends a command: `message` for people, `problem` (an RFC 9457 document) for `--json`."""

    def __init__(self, code: Exit, message: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.exit = code
        self.message = message
        self.problem = problem or {}
