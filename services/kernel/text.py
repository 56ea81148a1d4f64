"""Text that every encoder takes: what cannot be encoded or stored becomes U+FFFD (PUB22)."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

REPLACEMENT = "\ufffd"
_JOINERS: Final = frozenset("\u200c\u200d")
"""Between letters of Persian and Hindi, and inside of many emoji."""


def encodable(text: str) -> str:
    """The text with U+FFFD for each lone surrogate; halves that belong together are joined."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def storable(text: str) -> str:
    """As `encodable`, and U+FFFD for NUL, which Postgres refuses."""
    return encodable(text).replace("\0", REPLACEMENT)


def is_one_line(text: str) -> bool:
    """Whether it is one line that shows what it holds: no controls, line ends, direction marks or other invisible
    characters but spaces, the wide ones too, and joiners."""
    return text.isprintable() or all(
        char.isprintable() or char in _JOINERS or unicodedata.category(char) == "Zs" for char in text
    )


def storable_json(value: Any) -> Any:
    """A JSON value with every string in it, keys included, made `storable`."""
    match value:
        case str():
            return storable(value)
        case Mapping():
            return {storable(str(key)): storable_json(entry) for key, entry in value.items()}
        case list() | tuple():
            return [storable_json(entry) for entry in value]
        case _:
            return value
