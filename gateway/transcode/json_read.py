"""Bodies into values: strict JSON. Whatever could not be stored or sent on later is refused here, naming the field."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

from services.kernel.errors import Invalid, TooLarge
from services.kernel.text import encodable

DEPTH_MOST: Final = 24
"""Levels of objects and arrays, the body itself being the first."""
OUTSIDE_MOST: Final = 1024 * 1024
"""Bytes of a body besides what its strings hold. Long texts cost next to nothing to read, and may make a body larger;
many small values block everybody for half a second a megabyte."""
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_PATH_MOST: Final = 200
_INT64: Final = range(-(2**63), 2**64)

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def read_object(body: bytes) -> dict[str, Json]:
    """The body as an object; an empty body is the empty object. Invalid, or TooLarge, where it is none of ours."""
    value = parse_object(body)
    check_object(value)
    return value


def parse_object(body: bytes) -> dict[str, Json]:
    """As read_object, but what is in the object is not looked at: check_object does."""
    if not body.strip():
        return {}
    if len(body) > OUTSIDE_MOST and len(_STRING.sub(b'""', body)) > OUTSIDE_MOST:
        what = f"the body has more than {OUTSIDE_MOST} bytes outside of its texts"
        raise TooLarge("BODY_TOO_LARGE", what, field="body", limit=OUTSIDE_MOST)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise _malformed(f"the body is not UTF-8 (byte {fault.start})") from None
    value = parse(text)
    if not isinstance(value, dict):
        raise _malformed("the body must be a JSON object")
    return value


def check_object(value: dict[str, Json]) -> None:
    """Refuses, by its path, the first thing in the object that could not be stored or sent on."""
    if not _clean(value, 1):
        for name, member in value.items():
            check_text(name, name)
            _check(member, name, 2)


def parse(text: str) -> Json:
    """One JSON value without repeated keys or non-finite numbers; its depth and strings are not looked at."""
    try:
        return _DECODER.decode(text)  # type: ignore[no-any-return]
    except json.JSONDecodeError as fault:
        raise _malformed(f"the body is not JSON: {fault.msg} at line {fault.lineno}, column {fault.colno}") from None
    except RecursionError:
        raise _too_deep("body") from None
    except Invalid:
        raise
    except ValueError:
        raise _malformed("the body holds a number with too many digits") from None


def quoted(path: str) -> str:
    """A field's path that can be shown: encodable, printable, not endless."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in encodable(path))
    return shown if len(shown) <= _PATH_MOST else shown[:_PATH_MOST] + "…"


def bad_field(path: str, what: str) -> Invalid:
    """The refusal of one field."""
    shown = quoted(path)
    return Invalid("INVALID_FIELD", f"{shown}: {what}", field=shown)


def check_text(text: str, path: str) -> None:
    """Refuses what is no text: lone surrogates (PUB22) and NUL (Postgres refuses it)."""
    if "\0" in text:
        raise bad_field(path, "NUL characters are not allowed")
    if not _encodes(text):
        raise bad_field(path, "a lone surrogate is not text")


def _clean(value: Any, depth: int) -> bool:
    """Whether nothing in it would be refused. Quick, because it does not know where it is; _check says where."""
    kind = type(value)
    if kind is str:
        return "\0" not in value and (value.isascii() or _encodes(value))
    if kind is int:
        return value in _INT64
    if kind is float:
        return math.isfinite(value)
    if isinstance(value, dict):
        return depth <= DEPTH_MOST and all(
            _clean(name, depth) and _clean(member, depth + 1) for name, member in value.items()
        )
    if isinstance(value, list):
        return depth <= DEPTH_MOST and all(_clean(member, depth + 1) for member in value)
    return True


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _check(value: Json, path: str, depth: int) -> None:
    """Refuses the first thing that _clean found, by its path."""
    match value:
        case str():
            check_text(value, path)
        case int() if value not in _INT64:
            raise bad_field(path, "the number does not fit in 64 bits")
        case float() if not math.isfinite(value):
            raise bad_field(path, "the number is too large")
        case dict():
            _deeper(depth, path)
            for name, member in value.items():
                check_text(name, f"{path}.{name}")
                _check(member, f"{path}.{name}", depth + 1)
        case list():
            _deeper(depth, path)
            for at, member in enumerate(value):
                _check(member, f"{path}[{at}]", depth + 1)


def _deeper(depth: int, path: str) -> None:
    if depth > DEPTH_MOST:
        raise _too_deep(path)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise Invalid("DUPLICATE_FIELD", f"{quoted(name)} is given twice", field=quoted(name))
            seen.add(name)
    return members


def _no_constant(name: str) -> NoReturn:
    raise _malformed(f"{name} is not JSON")


def _malformed(what: str) -> Invalid:
    return Invalid("INVALID_JSON", what, field="body")


def _too_deep(path: str) -> Invalid:
    shown = quoted(path)
    return Invalid("TOO_DEEP", f"{shown}: more than {DEPTH_MOST} levels deep", field=shown, limit=DEPTH_MOST)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
