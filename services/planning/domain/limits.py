"""Every limit of planning, and texts brought into form. Lengths are code points unless they say bytes (PUB21)."""

from __future__ import annotations

import re
from typing import Final

from services.kernel.errors import Invalid, TooLarge
from services.kernel.text import is_one_line

OBJECTIVE_MOST: Final = 500
STEP_TEXT_MOST: Final = 500
STEPS_MOST: Final = 200
ITEMS_MOST: Final = 50
"""Steps added, or edited, by one call."""
DEPTH_MOST: Final = 32
DOCUMENTS_MOST: Final = 50
DOCUMENT_BYTES_MOST: Final = 256 * 1024
DOCUMENTS_BYTES_MOST: Final = 2 * 1024 * 1024
"""Of all documents of a session: a whole workspace fits one message (PUB23)."""
BRANCHES_MOST: Final = 200
"""Sessions of one conversation that exist at once."""
TITLE_MOST: Final = 200
_KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def objective_text(text: str) -> str:
    """One line: trimmed, runs of white space are one space; empty for none. Invalid when longer than 500."""
    _no_nul(text, "text")
    line = " ".join(text.split())
    if len(line) > OBJECTIVE_MOST:
        raise too_long("text", OBJECTIVE_MOST)
    return line


def step_text(text: str, field: str) -> str:
    """Trimmed. Invalid when blank or longer than 500."""
    _no_nul(text, field)
    trimmed = text.strip()
    if not trimmed:
        raise Invalid("INVALID_ARGUMENT", f"{field} must not be blank", field=field)
    if len(trimmed) > STEP_TEXT_MOST:
        raise too_long(field, STEP_TEXT_MOST)
    return trimmed


def title_text(title: str) -> str:
    """One line of at most 200 printable characters, as streaming takes it for its session."""
    _no_nul(title, "title")
    if len(title) > TITLE_MOST:
        raise too_long("title", TITLE_MOST)
    if not is_one_line(title):
        raise Invalid("INVALID_ARGUMENT", "title must be one line of printable characters", field="title")
    return title.strip()


def document_key(key: str) -> str:
    """`[A-Za-z0-9_.-]{1,64}`, as a whole; not `.` or `..`, which clients take for steps of a path."""
    if _KEY.fullmatch(key) is None or key in (".", ".."):
        raise Invalid("INVALID_NAME", "a document's key must match [A-Za-z0-9_.-]{1,64}, not . or ..", field="name")
    return key


def document_content(content: str) -> str:
    """As it is, byte by byte. TooLarge above 256 KiB."""
    _no_nul(content, "content")
    if len(content.encode()) > DOCUMENT_BYTES_MOST:
        raise TooLarge(
            "VALUE_TOO_LARGE",
            f"content must be at most {DOCUMENT_BYTES_MOST} bytes",
            field="content",
            limit=DOCUMENT_BYTES_MOST,
        )
    return content


def count(field: str, given: int, most: int) -> None:
    """A list of 1..most."""
    if not 1 <= given <= most:
        raise Invalid("INVALID_ARGUMENT", f"{field} must be 1..{most}", field=field, limit=most)


def too_long(field: str, most: int) -> Invalid:
    """A text above its limit is refused, never cut."""
    return Invalid("INVALID_ARGUMENT", f"{field} must be at most {most} characters", field=field, limit=most)


def _no_nul(text: str, field: str) -> None:
    if "\0" in text:
        raise Invalid("INVALID_ARGUMENT", f"{field} must not contain NUL", field=field)
