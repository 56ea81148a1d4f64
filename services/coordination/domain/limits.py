"""What names, briefs and notes may be (A1, C.2): code points count; over a limit is refused, not cut."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from services.kernel.errors import Invalid
from services.kernel.text import encodable

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
BRIEF_MOST: Final = 4_000
CONTEXT_MOST: Final = 4_000
NOTE_MOST: Final = 2_000
NOTES_KEPT: Final = 50
SESSION_ID_MOST: Final = 256
LIVE_MOST: Final = 32
"""Workers of one coordinator that have not ended."""
WORKERS_MOST: Final = 1_000
"""Workers of one coordinator, ended ones included."""
REPORT_BYTES: Final = 3 * 1024 * 1024
PAGE_BYTES: Final = 256 * 1024
SPAWN_ITEMS: Final = 64
TIMEOUT_MOST: Final = 86_400
CANCEL_REASON_MOST: Final = 500
INTERIM_REPORTS_MOST: Final = 100
"""Reports of one worker before its final one."""
INJECTIONS_KEPT: Final = 1_000
"""What a session was told in its newest turns, for as long as there is the session."""


def worker_name(text: str, field: str = "name") -> str:
    """A worker's name. INVALID_NAME quotes the rule; the whole text must match, so a trailing newline does not pass."""
    if NAME.fullmatch(text) is None:
        raise Invalid("INVALID_NAME", f"{field} must match ^[a-z0-9][a-z0-9_-]{{0,63}}$ as a whole", field=field)
    return text


def brief(text: str, field: str = "brief") -> str:
    """A brief, trimmed: 1..4,000 code points."""
    trimmed = _words(text, field).strip()
    if not trimmed:
        raise Invalid("BRIEF_REQUIRED", f"{field} must not be empty", field=field)
    return _at_most(trimmed, BRIEF_MOST, field)


def extra_context(text: str, field: str = "context") -> str:
    """Extra context, trimmed: at most 4,000 code points."""
    return _at_most(_words(text, field).strip(), CONTEXT_MOST, field)


def note(text: str, field: str = "note") -> str:
    """A note, trimmed: 1..2,000 code points."""
    trimmed = _words(text, field).strip()
    if not trimmed:
        raise Invalid("INVALID_ARGUMENT", f"{field} must not be empty", field=field)
    return _at_most(trimmed, NOTE_MOST, field)


def cancel_reason(text: str, field: str = "reason") -> str:
    """Why a worker is cancelled, trimmed: at most 500 code points; may be empty."""
    return _at_most(_words(text, field).strip(), CANCEL_REASON_MOST, field)


def session_id(text: str, field: str) -> str:
    """A session id as the seed's REST takes it: 1..256 code points, no outer spaces, no control characters."""
    if not text or text != text.strip() or any(unicodedata.category(one) == "Cc" for one in text):
        raise Invalid(
            "INVALID_ARGUMENT",
            f"{field} must be 1..{SESSION_ID_MOST} characters without outer spaces and control characters",
            field=field,
        )
    return _at_most(_words(text, field), SESSION_ID_MOST, field)


def _words(text: str, field: str) -> str:
    """What can be stored and sent: no NUL, no half of a surrogate pair (PUB22)."""
    if "\0" in text or encodable(text) != text:
        raise Invalid("INVALID_ARGUMENT", f"{field} must not contain NUL or lone surrogates", field=field)
    return text


def _at_most(text: str, most: int, field: str) -> str:
    if len(text) > most:
        raise Invalid("INVALID_ARGUMENT", f"{field} must be at most {most} characters", field=field, limit=most)
    return text
