"""Resource names in; a malformed one is refused by its field."""

from __future__ import annotations

import re
from typing import Final

from services.kernel.errors import Invalid
from services.kernel.ids import is_id
from services.planning.domain import limits

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}")


def session_id(name: str, field: str = "name") -> str:
    """The id in `sessions/{id}`."""
    head, _, tail = name.partition("/")
    if head != "sessions" or not is_id("ses", tail):
        raise Invalid("INVALID_NAME", f"{field} must be sessions/{{id}}", field=field)
    return tail


def bare_session_id(text: str, field: str) -> str:
    """The id, alone or as `sessions/{id}`."""
    return session_id(text if "/" in text else f"sessions/{text}", field)


def document(name: str) -> tuple[str, str]:
    """(session, key) in `sessions/{id}/documents/{key}`."""
    head, slash, key = name.partition("/documents/")
    if not slash:
        raise Invalid("INVALID_NAME", "name must be sessions/{id}/documents/{key}", field="name")
    return session_id(head), limits.document_key(key)


def turn_id(text: str, field: str) -> str:
    """`trn_` and a UUIDv7; empty where none is named."""
    if text and not is_id("trn", text):
        raise Invalid("INVALID_ARGUMENT", f"{field} must be trn_ and a UUIDv7", field=field)
    return text


def turn(name: str) -> tuple[str, int]:
    """(session, number) in `sessions/{id}/turns/{number}`."""
    head, slash, number = name.partition("/turns/")
    if not slash or _NUMBER.fullmatch(number) is None:
        raise Invalid("INVALID_NAME", "name must be sessions/{id}/turns/{number}", field="name")
    return session_id(head), int(number)
