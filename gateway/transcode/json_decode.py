"""JSON values into request messages. One decoder a message type, compiled from its descriptor and kept."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection
from functools import cache, partial
from typing import Any, Final

import orjson
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from gateway.transcode.enums import numbers_of
from gateway.transcode.fields import BOUNDS, Kind, is_list, kind_of, rest_name
from gateway.transcode.json_read import Json, bad_field, quoted
from services.kernel.errors import Invalid

_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,19})")
_RFC3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_SECONDS: Final = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?s")

Read = Callable[[Any, str], Any]
"""(JSON value, path of the field) → the value for the message; Invalid when it does not fit."""


class MessageDecoder:
    """Reads one type of message. Unknown fields, wrong types and two members of a oneof are refused by name."""

    def __init__(self, message: Descriptor) -> None:
        self._make: Callable[..., Message] = message_factory.GetMessageClass(message)
        self._fields = {rest_name(field): (field.name, _reader(field)) for field in message.fields}
        self._oneofs = [
            [rest_name(field) for field in oneof.fields] for oneof in message.oneofs if len(oneof.fields) > 1
        ]

    def decode(self, value: dict[str, Json], path: str = "", reserved: Collection[str] = ()) -> Message:
        """The message. `reserved` are fields that the path has filled: a body must not name them."""
        given: dict[str, Any] = {}
        for name, member in value.items():
            known = self._fields.get(name)
            where = f"{path}.{name}" if path else name
            if known is None or known[0] in reserved:
                raise Invalid("UNKNOWN_FIELD", f"unknown field {quoted(where)}", field=quoted(where))
            if member is not None:
                given[known[0]] = known[1](member, where)
        for names in self._oneofs:
            both = [name for name in names if value.get(name) is not None]
            if len(both) > 1:
                raise bad_field(f"{path}.{both[1]}" if path else both[1], f"not together with {both[0]}")
        return self._make(**given)


@cache
def decoder_of(message: Descriptor) -> MessageDecoder:
    """The decoder of a message type; it lives as long as the descriptors do."""
    return MessageDecoder(message)


def _reader(field: FieldDescriptor) -> Read:
    one = _one(field)
    return partial(_list, one) if is_list(field) else one


def _one(field: FieldDescriptor) -> Read:
    match kind_of(field):
        case Kind.STRING:
            return _string
        case Kind.BOOL:
            return _bool
        case Kind.INTEGER:
            return partial(_integer, BOUNDS[field.type])
        case Kind.NUMBER:
            return _number
        case Kind.BYTES:
            return _bytes
        case Kind.JSON:
            return _json
        case Kind.ENUM:
            assert field.enum_type is not None
            return partial(_enum, field.enum_type)
        case Kind.TIMESTAMP:
            assert field.message_type is not None
            return partial(_timestamp, message_factory.GetMessageClass(field.message_type))
        case Kind.DURATION:
            assert field.message_type is not None
            return partial(_duration, message_factory.GetMessageClass(field.message_type))
        case Kind.MESSAGE:
            assert field.message_type is not None
            return partial(_message, field.message_type)
        case Kind.MAP:
            assert field.message_type is not None
            return partial(_map, _one(field.message_type.fields_by_name["value"]))


def _list(one: Read, value: object, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise bad_field(path, "must be an array")
    return [_present(one, member, f"{path}[{at}]") for at, member in enumerate(value)]


def _map(one: Read, value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise bad_field(path, "must be an object")
    return {name: _present(one, member, f"{path}.{name}") for name, member in value.items()}


def _present(one: Read, value: object, path: str) -> Any:
    if value is None:
        raise bad_field(path, "must not be null")
    return one(value, path)


def _message(message: Descriptor, value: object, path: str) -> Message:
    if not isinstance(value, dict):
        raise bad_field(path, "must be an object")
    return decoder_of(message).decode(value, path)


def _string(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise bad_field(path, "must be a string")
    return value


def _bool(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise bad_field(path, "must be true or false")
    return value


def _integer(bounds: tuple[int, int], value: object, path: str) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad_field(path, "must be a whole number")
    if not bounds[0] <= value <= bounds[1]:
        raise bad_field(path, f"must be within {bounds[0]}..{bounds[1]}")
    return value


def _number(value: object, path: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise bad_field(path, "must be a number")
    return float(value)


def _bytes(value: object, path: str) -> bytes:
    try:
        return base64.b64decode(_string(value, path), validate=True)
    except (binascii.Error, ValueError):
        raise bad_field(path, "must be base64") from None


def _json(value: object, path: str) -> bytes:
    return orjson.dumps(value)


def _enum(enum: EnumDescriptor, value: object, path: str) -> int:
    numbers = numbers_of(enum)
    if not isinstance(value, str) or value not in numbers:
        raise bad_field(path, f"must be one of {', '.join(numbers)}")
    return numbers[value]


def _timestamp(make: Callable[[], Any], value: object, path: str) -> Any:
    stamp = make()
    try:
        if not isinstance(value, str) or not _RFC3339.fullmatch(value):
            raise ValueError
        stamp.FromJsonString(value.upper())
    except ValueError:
        raise bad_field(path, "must be a time such as 2026-01-31T09:30:00Z") from None
    return stamp


def _duration(make: Callable[[], Any], value: object, path: str) -> Any:
    span = make()
    try:
        if not isinstance(value, str) or not _SECONDS.fullmatch(value):
            raise ValueError
        span.FromJsonString(value)
    except ValueError:
        raise bad_field(path, "must be a duration in seconds such as 1.5s") from None
    return span
