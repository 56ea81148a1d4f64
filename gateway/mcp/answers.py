"""What a tool call answers: JSON as structured content and as text; a refusal as an error that the model can read."""

from __future__ import annotations

from typing import Any

import orjson
from mcp_types import CallToolResult, TextContent

from gateway.problems import Problem


def answered(body: bytes) -> CallToolResult:
    """The answer of a call; `body` is a JSON object."""
    return _result(body, is_error=False)


def refused(problem: Problem) -> CallToolResult:
    """The refusal of a call. Only what a service cannot do now is `retryable`."""
    error: dict[str, Any] = {
        "code": problem.reason.lower(),
        "message": problem.detail,
        "retryable": problem.status == 503,
        "details": problem.metadata,
    }
    return _result(orjson.dumps({"ok": False, "error": error}), is_error=True)


def _result(body: bytes, *, is_error: bool) -> CallToolResult:
    text = TextContent(type="text", text=body.decode())
    return CallToolResult(content=[text], structured_content=orjson.loads(body), is_error=is_error)
