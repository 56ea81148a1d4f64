"""What a refusal looks like, and which ones a route may answer."""

from __future__ import annotations

from typing import Any, Final

PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "description": "A problem document (RFC 9457).",
    "required": ["type", "title", "status", "detail", "reason", "metadata", "request_id"],
    "properties": {
        "type": {"type": "string", "description": "`urn:treadle:problem:` and the reason in lower case."},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "What is wrong, for people."},
        "reason": {"type": "string", "description": "What is wrong, for programs: stable, UPPER_SNAKE."},
        "metadata": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "What the reason is about, for example `field`, `limit`, `decided_by`.",
        },
        "state": {"type": "string", "description": "The resource's current state, where it matters."},
        "request_id": {"type": "string", "description": "Names the request in the logs."},
    },
}

_REFUSALS: Final = {
    "400": "The request is not valid, or a position is gone.",
    "401": "The caller is not known.",
    "403": "The caller may not do this.",
    "404": "There is no such resource.",
    "409": "The current state does not allow it, somebody else was first, or a name or key is taken.",
    "412": "The etag in If-Match is not the current one.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "429": "A limit is used up; see Retry-After.",
    "500": "A fault of ours; the log has it under the request id.",
    "503": "A service cannot be reached now.",
    "504": "The call took too long.",
}


def responses(answer: dict[str, Any], *, conditional: bool) -> dict[str, Any]:
    """All answers of a route. `conditional`: it takes If-Match."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refusals = {
        status: {"description": text, "content": content}
        for status, text in _REFUSALS.items()
        if conditional or status != "412"
    }
    return {"200": answer, **refusals}
