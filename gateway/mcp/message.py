"""The body of a POST to `/mcp`: one JSON-RPC message, read as strictly as any other body of the gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from gateway.transcode.json_read import Json, check_object, parse_object
from services.kernel.errors import Invalid, Refusal
from services.kernel.text import encodable

_CALL: Final = "tools/call"
_INT64: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class McpMessage:
    """A message that the SDK can read. `tool`: which one it calls. `refusal`: what is wrong with the arguments, which
    the body then lacks: it is the tool's to answer, so that the model is told."""

    body: bytes
    tool: str | None
    refusal: Refusal | None


class NotAMessage(Exception):
    """The body is no JSON-RPC request or notification; `body` is the error that answers it."""

    def __init__(self, code: int, text: str, message_id: str | int | None) -> None:
        super().__init__(text)
        error = {"code": code, "message": encodable(text)}
        self.body: Final = orjson.dumps({"jsonrpc": "2.0", "id": message_id, "error": error})


def read_message(body: bytes) -> McpMessage:
    """The message of a body; NotAMessage where it is none."""
    try:
        message = parse_object(body)
    except Invalid as fault:
        raise NotAMessage(PARSE_ERROR, fault.message, None) from None
    params = message.get("params")
    call = params if message.get("method") == _CALL and isinstance(params, dict) else {}
    refusal = _refusal_of(call.get("arguments"))
    if refusal is not None:
        message = {**message, "params": {**call, "arguments": {}}}
    _check(message)
    tool = call.get("name")
    return McpMessage(
        body if refusal is None else orjson.dumps(message), tool if isinstance(tool, str) else None, refusal
    )


def _refusal_of(arguments: Json) -> Refusal | None:
    try:
        if isinstance(arguments, dict):
            check_object(arguments)
    except Invalid as fault:
        return fault
    return None


def _check(message: dict[str, Json]) -> None:
    """What the SDK would refuse with words of its validator's."""
    given = message.get("id")
    message_id = given if _is_id(given) else None
    assert message_id is None or isinstance(message_id, str | int)
    try:
        check_object(message)
    except Invalid as fault:
        raise NotAMessage(INVALID_REQUEST, fault.message, message_id) from None
    wrong = (
        message.get("jsonrpc") != "2.0"
        or not isinstance(message.get("method"), str)
        or ("id" in message and message_id is None)
        or not isinstance(message.get("params", {}), dict)
    )
    if wrong:
        text = "the body must be one JSON-RPC 2.0 request or notification, with params by name"
        raise NotAMessage(INVALID_REQUEST, text, message_id)


def _is_id(value: Json) -> bool:
    if isinstance(value, str):
        return encodable(value) == value
    return isinstance(value, int) and not isinstance(value, bool) and value in _INT64
