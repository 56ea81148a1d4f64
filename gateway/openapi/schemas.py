"""Messages and enums as JSON Schema (2020-12), as the codecs read and write them."""

from __future__ import annotations

from typing import Any, Final

from google.api import field_behavior_pb2  # type: ignore[import-untyped]
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from gateway.openapi.comments import comments
from gateway.transcode.enums import numbers_of
from gateway.transcode.fields import BOUNDS, Kind, is_list, kind_of, rest_name
from services.kernel.request import REQUEST_ID

Schema = dict[str, Any]
_FIXED: Final[dict[Kind, Schema]] = {
    Kind.STRING: {"type": "string"},
    Kind.BOOL: {"type": "boolean"},
    Kind.NUMBER: {"type": "number"},
    Kind.BYTES: {"type": "string", "contentEncoding": "base64"},
    Kind.JSON: {},
    Kind.TIMESTAMP: {"type": "string", "format": "date-time"},
    Kind.DURATION: {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$"},
}
KEY_PATTERN: Final = f"^{REQUEST_ID.pattern}$"
"""What every service takes as an idempotency key."""
_BY_NAME: Final[dict[str, Schema]] = {"request_id": {"pattern": f"{KEY_PATTERN}|^$"}, "page_size": {"minimum": 0}}
"""Fields that mean the same, and are refused for the same reasons, wherever they are."""


class Schemas:
    """Collects the components that the document's operations refer to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def reference(self, message: Descriptor, leave_out: frozenset[str] = frozenset()) -> Schema:
        """A reference to a message's component. `leave_out`: fields that path or headers carry."""
        name = _short(message)
        if name not in self.components:
            self.components[name] = {}
            self.components[name] = self._message(message, leave_out)
        return {"$ref": f"#/components/schemas/{name}"}

    def field(self, field: FieldDescriptor) -> Schema:
        """The schema of a field, with its comment."""
        schema = {**self._one(field), **_BY_NAME.get(field.name, {})}
        if is_list(field):
            schema = {"type": "array", "items": schema}
        elif kind_of(field) is Kind.MAP:
            assert field.message_type is not None
            value = self._one(field.message_type.fields_by_name["value"])
            schema = {"type": "object", "additionalProperties": value}
        if text := comments().get(field.full_name):
            schema = {**schema, "description": text}
        if behavior(field) & {"OUTPUT_ONLY", "IDENTIFIER"}:
            schema = {**schema, "readOnly": True}
        return schema

    def _message(self, message: Descriptor, leave_out: frozenset[str]) -> Schema:
        fields = [field for field in message.fields if field.name not in leave_out]
        schema: Schema = {
            "type": "object",
            "properties": {rest_name(field): self.field(field) for field in fields},
            "additionalProperties": False,
        }
        required = [rest_name(field) for field in fields if "REQUIRED" in behavior(field)]
        if required:
            schema["required"] = required
        if text := comments().get(message.full_name):
            schema["description"] = text
        return schema

    def _one(self, field: FieldDescriptor) -> Schema:
        kind = kind_of(field)
        if kind is Kind.INTEGER:
            low, high = BOUNDS[field.type]
            return {"type": "integer", "minimum": low, "maximum": high}
        if kind is Kind.ENUM:
            assert field.enum_type is not None
            return self._enum(field.enum_type)
        if kind is Kind.MESSAGE:
            assert field.message_type is not None
            return self.reference(field.message_type)
        return dict(_FIXED.get(kind, {}))

    def _enum(self, enum: EnumDescriptor) -> Schema:
        name = _short(enum)
        if name not in self.components:
            self.components[name] = {"type": "string", "enum": list(numbers_of(enum))}
            if text := comments().get(enum.full_name):
                self.components[name]["description"] = text
        return {"$ref": f"#/components/schemas/{name}"}


def behavior(field: FieldDescriptor) -> set[str]:
    """The field's `google.api.field_behavior`, by name."""
    values = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
    return {field_behavior_pb2.FieldBehavior.Name(value) for value in values}


def _short(thing: Descriptor | EnumDescriptor) -> str:
    """`threads.Thread.State` for `treadle.threads.v1.Thread.State`: unique, and short enough to read."""
    return thing.full_name.removeprefix("treadle.").replace(".v1.", ".")
