"""JSON Schema by the jsonschema library: 2020-12, validators kept, references never fetched."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from services.kernel.errors import Invalid
from services.threads.domain.canonical import JsonObject, canonical_json

_NO_NETWORK: Registry[Any] = Registry()


class JsonSchemas:
    """See application.ports.SchemaCheck."""

    def check_schema(self, field: str, schema: JsonObject) -> None:
        """The schema must be one of an object."""
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as fault:
            raise Invalid(
                "INVALID_REGISTRATION", f"{field} is no JSON Schema: {fault.message[:200]}", field=field
            ) from None
        if schema.get("type") != "object":
            raise Invalid("INVALID_REGISTRATION", f"{field} must have type object", field=field)

    def check(self, field: str, schema: JsonObject, parameters: JsonObject) -> None:
        """The first fault is told, with its place."""
        try:
            fault = next(iter(_validator(canonical_json(schema)).iter_errors(parameters)), None)
        except Unresolvable:
            raise Invalid(
                "INVALID_PARAMETERS", "the action's schema refers to what is not there", field=field
            ) from None
        if fault is None:
            return
        place = ".".join([field, *(str(part) for part in fault.absolute_path)])
        raise Invalid("INVALID_PARAMETERS", f"{place}: {fault.message[:300]}", field=place)


@lru_cache(maxsize=1024)
def _validator(schema: bytes) -> Draft202012Validator:
    return Draft202012Validator(orjson.loads(schema), registry=_NO_NETWORK)
