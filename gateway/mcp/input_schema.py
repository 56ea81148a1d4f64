"""A tool's arguments as JSON Schema: the OpenAPI document's rules, with everything in its place (no `$ref`).

Models read it at each turn, so what tells them nothing is left out: bounds of integer types, patterns, line ends, what
a field is called elsewhere, and what only answers have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from gateway.openapi.schemas import Schemas, behavior
from gateway.transcode.fields import rest_name
from gateway.transcode.http_rules import RuleFault

_PREFIX: Final = "#/components/schemas/"
_TYPES_OWN: Final = ("$ref", "minimum", "maximum", "pattern")
"""Bounds of integer types and patterns of keys: a model reads the words."""

_ELSEWHERE: Final = re.compile(r"\s*On (REST|SSE) it is `\w+`\.")


def input_schema(fields: Iterable[FieldDescriptor]) -> dict[str, Any]:
    """The schema of an object with these fields and no others."""
    schemas, properties, required = Schemas(), {}, []
    for field in fields:
        properties[rest_name(field)] = schemas.field(field)
        if "REQUIRED" in behavior(field):
            required.append(rest_name(field))
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    whole: dict[str, Any] = _inlined(schema, schemas.components, ())
    return whole


def _inlined(value: Any, components: dict[str, Any], within: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_inlined(member, components, within) for member in value]
    if not isinstance(value, dict):
        return " ".join(_ELSEWHERE.sub("", value).split()) if isinstance(value, str) else value
    here = {key: _inlined(member, components, within) for key, member in value.items() if _kept(key, member)}
    if "$ref" not in value:
        return here
    name = str(value["$ref"]).removeprefix(_PREFIX)
    if name in within:
        raise RuleFault(f"{name} contains itself: it cannot be an argument of a tool")
    return {**_inlined(components[name], components, (*within, name)), **here}


def _kept(key: str, member: Any) -> bool:
    if isinstance(member, dict):  # a property of that name
        return member.get("readOnly") is not True
    return key not in _TYPES_OWN
