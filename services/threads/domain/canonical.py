"""Canonical JSON and its digest: sorted keys, no whitespace, UTF-8 (design/threads.md, section 0.3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Json) -> bytes:
    """The one byte form of a JSON value. Raises ValueError on NaN, infinities and lone surrogates."""
    return _ENCODER.encode(value).encode("utf-8")


def digest(value: Json) -> str:
    """Lower-case hexadecimal SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
