"""Checks of what users and agents write: length, NUL, lone surrogates, depth; a refusal names the field
(PUB22).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from services.kernel.errors import Invalid, TooLarge
from services.threads.domain import limits
from services.threads.domain.canonical import Json, JsonObject, canonical_json


def check_text(field: str, value: str, longest: int, *, shortest: int = 0) -> str:
    """Return `value` unchanged, or refuse: lengths are in code points, NUL and surrogates never pass."""
    if "\x00" in value:
        raise Invalid("INVALID_TEXT", f"{field} holds a NUL character", field=field)
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise Invalid("INVALID_TEXT", f"{field} holds a lone surrogate", field=field)
    if len(value) > longest:
        raise Invalid("INVALID_TEXT", f"{field} is longer than {longest} code points", field=field, limit=longest)
    if len(value.strip()) < shortest:
        raise Invalid("INVALID_TEXT", f"{field} is blank", field=field, limit=shortest)
    return value


def check_line(field: str, value: str, longest: int) -> str:
    """Return `value` trimmed: one line, not blank."""
    line = check_text(field, value.strip(), longest, shortest=1)
    if len(line.splitlines()) > 1:
        raise Invalid("INVALID_TEXT", f"{field} is more than one line", field=field)
    return line


def check_json(field: str, value: Json, most: int = limits.JSON_BYTES_MAX) -> Json:
    """Return `value`, or refuse it: depth, text, finite numbers within 64 bits, canonical size in bytes."""
    _walk(field, value, 1)
    size = len(canonical_json(value))
    if size > most:
        raise TooLarge("VALUE_TOO_LARGE", f"{field} is larger than {most} bytes", field=field, limit=most)
    return value


def check_object(field: str, value: JsonObject, most: int = limits.JSON_BYTES_MAX) -> JsonObject:
    """As `check_json`, for an object."""
    check_json(field, value, most)
    return value


def refuse_reserved(field: str, value: JsonObject) -> None:
    """Keys that the event log owns are never taken from a body (section 0.3)."""
    for key in value:
        if key in {"from", "to", "trigger"} or key.startswith("_"):
            raise Invalid("RESERVED_KEY", f"{field} may not carry a reserved key", field=field, key=key)


def _walk(field: str, value: Json, depth: int) -> None:
    if depth > limits.JSON_DEPTH_MAX:
        most = limits.JSON_DEPTH_MAX
        raise Invalid("INVALID_JSON", f"{field} is nested deeper than {most}", field=field, limit=most)
    if isinstance(value, str):
        check_text(field, value, limits.JSON_BYTES_MAX)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Invalid("INVALID_JSON", f"{field} holds a number that is not finite", field=field)
    elif isinstance(value, int) and abs(value) > limits.JSON_INT_MAX:
        raise Invalid("INVALID_JSON", f"{field} holds a number outside of 64 bits", field=field)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            check_text(field, key, limits.ITEM_LABEL_MAX)
            _walk(field, inner, depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            _walk(field, inner, depth + 1)
