"""Resource names in and out; a malformed one is refused by its field."""

from __future__ import annotations

from services.coordination.domain import limits
from services.kernel.errors import Invalid


def session_id(name: str, field: str = "parent") -> str:
    """The id in `sessions/{id}`; 1..256 characters, since the seed's REST takes other ids than ours (A1)."""
    head, _, tail = name.partition("/")
    if head != "sessions":
        raise Invalid("INVALID_ARGUMENT", f"{field} must be sessions/{{id}}", field=field)
    return limits.session_id(tail, field)
