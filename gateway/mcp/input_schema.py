"""A tool's arguments as JSON Schema: the OpenAPI document's rules, with everything in its place (no `$ref`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from gateway.openapi.schemas import Schemas, behavior
from gateway.transcode.fields import rest_name
from gateway.transcode.http_rules import RuleFault

_PREFIX: Final = "#/components/schemas/"


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
        return value
    here = {key: _inlined(member, components, within) for key, member in value.items() if key != "$ref"}
    if "$ref" not in value:
        return here
    name = str(value["$ref"]).removeprefix(_PREFIX)
    if name in within:
        raise RuleFault(f"{name} contains itself: it cannot be an argument of a tool")
    return {**_inlined(components[name], components, (*within, name)), **here}
