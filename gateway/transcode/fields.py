"""What a field of a message is called and how it is read on REST: shared by codecs, queries and OpenAPI."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from google.protobuf.descriptor import FieldDescriptor

JSON_SUFFIX: Final = "_json"
TIMESTAMP: Final = "google.protobuf.Timestamp"
DURATION: Final = "google.protobuf.Duration"
_F: Final = FieldDescriptor


class Kind(Enum):
    """The kinds of values that the gateway translates; anything else in a proto is refused at start-up."""

    STRING = auto()
    BOOL = auto()
    INTEGER = auto()
    NUMBER = auto()
    BYTES = auto()
    JSON = auto()
    ENUM = auto()
    TIMESTAMP = auto()
    DURATION = auto()
    MESSAGE = auto()
    MAP = auto()


_SCALARS: Final[dict[int, Kind]] = {
    _F.TYPE_STRING: Kind.STRING,
    _F.TYPE_BOOL: Kind.BOOL,
    _F.TYPE_DOUBLE: Kind.NUMBER,
    _F.TYPE_FLOAT: Kind.NUMBER,
    _F.TYPE_ENUM: Kind.ENUM,
}

BOUNDS: Final[dict[int, tuple[int, int]]] = {
    _F.TYPE_INT32: (-(2**31), 2**31 - 1),
    _F.TYPE_SINT32: (-(2**31), 2**31 - 1),
    _F.TYPE_SFIXED32: (-(2**31), 2**31 - 1),
    _F.TYPE_UINT32: (0, 2**32 - 1),
    _F.TYPE_FIXED32: (0, 2**32 - 1),
    _F.TYPE_INT64: (-(2**63), 2**63 - 1),
    _F.TYPE_SINT64: (-(2**63), 2**63 - 1),
    _F.TYPE_SFIXED64: (-(2**63), 2**63 - 1),
    _F.TYPE_UINT64: (0, 2**64 - 1),
    _F.TYPE_FIXED64: (0, 2**64 - 1),
}
"""Inclusive bounds of the integer types."""


def kind_of(field: FieldDescriptor) -> Kind:
    """The kind of the field's value, or of its elements when it is repeated."""
    if field.type in BOUNDS:
        return Kind.INTEGER
    if field.type == _F.TYPE_BYTES:
        return Kind.JSON if field.name.endswith(JSON_SUFFIX) else Kind.BYTES
    if field.type == _F.TYPE_MESSAGE:
        assert field.message_type is not None
        if field.message_type.GetOptions().map_entry:
            return Kind.MAP
        return {TIMESTAMP: Kind.TIMESTAMP, DURATION: Kind.DURATION}.get(field.message_type.full_name, Kind.MESSAGE)
    return _SCALARS[field.type]


def rest_name(field: FieldDescriptor) -> str:
    """The field's name on REST: as in the proto; `<x>_json` bytes are the JSON value `<x>`."""
    return field.name.removesuffix(JSON_SUFFIX) if kind_of(field) is Kind.JSON else field.name


def is_list(field: FieldDescriptor) -> bool:
    """Whether the field is a repeated one and not a map."""
    return field.is_repeated and kind_of(field) is not Kind.MAP
