"""Query strings into request messages: `state=done&state=dismissed`, nested fields by dots. Unknown names refused."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import unquote_plus

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from gateway.transcode.fields import Kind, is_list, kind_of, rest_name
from gateway.transcode.json_decode import decoder_of
from gateway.transcode.json_read import Json, bad_field, check_text, quoted
from services.kernel.errors import Invalid

_NUMBER: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
_PARAMETERS_MOST: Final = 500


def read_query(query: bytes, message: Descriptor, reserved: Collection[str] = ()) -> Message:
    """The request message of a GET: what the path has filled (`reserved`) is not a parameter."""
    value: dict[str, Json] = {}
    for name, text in split_query(query):
        field, holder = _place(message, name, value)
        if rest_name(field) == name and field.name in reserved:
            raise _unknown(name)
        _set(holder, field, name, text)
    return decoder_of(message).decode(value, reserved=reserved)


def split_query(query: bytes) -> list[tuple[str, str]]:
    """The decoded pairs of a query string; what is not UTF-8 or not text is refused."""
    parts = [part for part in query.decode("ascii", "replace").split("&") if part]
    if len(parts) > _PARAMETERS_MOST:
        raise Invalid("INVALID_QUERY", f"more than {_PARAMETERS_MOST} parameters", field="query")
    pairs: list[tuple[str, str]] = []
    for part in parts:
        name, _, text = part.partition("=")
        try:
            pair = unquote_plus(name, errors="strict"), unquote_plus(text, errors="strict")
        except UnicodeDecodeError:
            raise bad_field(name, "the parameter is not UTF-8") from None
        check_text(pair[0], pair[0])
        check_text(pair[1], pair[0])
        pairs.append(pair)
    return pairs


def _place(message: Descriptor, name: str, value: dict[str, Json]) -> tuple[FieldDescriptor, dict[str, Json]]:
    """The field that a dotted name means, and the object that holds it."""
    holder: Json = value
    *heads, tail = name.split(".")
    for head in heads:
        outer = _field(message, head)
        if outer is None or kind_of(outer) is not Kind.MESSAGE or is_list(outer) or outer.message_type is None:
            raise _unknown(name)
        message = outer.message_type
        assert isinstance(holder, dict)
        holder = holder.setdefault(head, {})
    field = _field(message, tail)
    if field is None or kind_of(field) in (Kind.MESSAGE, Kind.MAP, Kind.JSON):
        raise _unknown(name)
    assert isinstance(holder, dict)
    return field, holder


def _field(message: Descriptor, name: str) -> FieldDescriptor | None:
    return next((field for field in message.fields if rest_name(field) == name), None)


def _set(holder: dict[str, Json], field: FieldDescriptor, name: str, text: str) -> None:
    key = rest_name(field)
    value = _value(field, name, text)
    if is_list(field):
        values = holder.setdefault(key, [])
        assert isinstance(values, list)
        values.append(value)
    elif key in holder:
        raise Invalid("DUPLICATE_FIELD", f"{quoted(name)} is given twice", field=quoted(name))
    else:
        holder[key] = value


def _value(field: FieldDescriptor, name: str, text: str) -> Json:
    """The text as the JSON value that the decoder expects."""
    match kind_of(field):
        case Kind.BOOL:
            if text not in ("true", "false"):
                raise bad_field(name, "must be true or false")
            return text == "true"
        case Kind.NUMBER:
            if not _NUMBER.fullmatch(text):
                raise bad_field(name, "must be a number")
            return float(text)
        case _:
            return text


def _unknown(name: str) -> Invalid:
    return Invalid("UNKNOWN_PARAMETER", f"unknown parameter {quoted(name)}", field=quoted(name))
