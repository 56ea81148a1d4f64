"""Messages into JSON: snake_case, defaults present, what is not set absent. One encoder a message type, compiled.

Departures from ProtoJSON, by design: 64-bit integers are numbers, enum values are lower case without prefix, and
`<x>_json` bytes are the JSON value `<x>` (design/gateway.md; what the console reads).
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from typing import Any

import orjson
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from gateway.transcode.enums import names_of
from gateway.transcode.fields import Kind, is_list, kind_of, rest_name

Put = Callable[[Any, dict[str, Any]], None]
Write = Callable[[Any], Any]


class MessageEncoder:
    """Writes one type of message."""

    def __init__(self, message: Descriptor) -> None:
        self._message = message
        self._puts: list[Put] = []

    def encode(self, message: Message) -> bytes:
        """The message as JSON text."""
        return orjson.dumps(self.to_dict(message))

    def to_dict(self, message: Any) -> dict[str, Any]:
        """The message as a value that orjson can write; members in the order of the proto."""
        # Late, at first use: a message type may contain itself.
        self._puts = self._puts or [_put(field) for field in self._message.fields]
        out: dict[str, Any] = {}
        for put in self._puts:
            put(message, out)
        return out


@cache
def encoder_of(message: Descriptor) -> MessageEncoder:
    """The encoder of a message type; it lives as long as the descriptors do."""
    return MessageEncoder(message)


def _put(field: FieldDescriptor) -> Put:
    name, get, write = rest_name(field), attrgetter(field.name), _write(field)
    if kind_of(field) is Kind.MAP:
        return partial(_put_map, name, get, write)
    if is_list(field):
        return partial(_put_list, name, get, write)
    if field.has_presence:
        return partial(_put_present, name, field.name, get, write)
    if kind_of(field) in (Kind.ENUM, Kind.JSON):
        return partial(_put_unless_zero, name, get, write)
    if kind_of(field) is Kind.BYTES:
        return partial(_put_bytes, name, get)
    return partial(_put_plain, name, get)


def _put_plain(name: str, get: Write, message: Any, out: dict[str, Any]) -> None:
    out[name] = get(message)


def _put_bytes(name: str, get: Write, message: Any, out: dict[str, Any]) -> None:
    out[name] = _base64(get(message))


def _put_unless_zero(name: str, get: Write, write: Write, message: Any, out: dict[str, Any]) -> None:
    if value := get(message):
        out[name] = write(value)


def _put_present(name: str, field: str, get: Write, write: Write, message: Any, out: dict[str, Any]) -> None:
    if message.HasField(field):
        out[name] = write(get(message))


def _put_list(name: str, get: Write, write: Write, message: Any, out: dict[str, Any]) -> None:
    out[name] = [write(value) for value in get(message)]


def _put_map(name: str, get: Write, write: Write, message: Any, out: dict[str, Any]) -> None:
    out[name] = {str(key): write(value) for key, value in get(message).items()}


def _write(field: FieldDescriptor) -> Write:
    match kind_of(field):
        case Kind.STRING | Kind.BOOL | Kind.INTEGER | Kind.NUMBER:
            return _same
        case Kind.BYTES:
            return _base64
        case Kind.JSON:
            return orjson.Fragment
        case Kind.ENUM:
            assert field.enum_type is not None
            return partial(_enum, field.enum_type)
        case Kind.TIMESTAMP | Kind.DURATION:
            return _stamp
        case Kind.MESSAGE:
            assert field.message_type is not None
            return encoder_of(field.message_type).to_dict
        case Kind.MAP:
            assert field.message_type is not None
            return _write(field.message_type.fields_by_name["value"])


def _same(value: Any) -> Any:
    return value


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _enum(enum: EnumDescriptor, number: int) -> str | int:
    """A number that these protos do not know yet (a newer service) goes out as it is."""
    return names_of(enum).get(number, number)


def _stamp(value: Any) -> Any:
    return value.ToJsonString()
