"""Enum values on REST: lower case, without the enum's prefix (`done` for `STATE_DONE`). Zero means: not set."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from google.protobuf.descriptor import EnumDescriptor

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@cache
def names_of(enum: EnumDescriptor) -> dict[int, str]:
    """Number to REST name, without the zero value, which is never sent."""
    prefix = _HUMP.sub("_", enum.name).upper() + "_"
    return {value.number: value.name.removeprefix(prefix).lower() for value in enum.values if value.number != 0}


@cache
def numbers_of(enum: EnumDescriptor) -> dict[str, int]:
    """REST name to number."""
    return {name: number for number, name in names_of(enum).items()}
