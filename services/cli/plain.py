"""Text of others on a terminal: no escape sequence, no mark-up, no direction override of theirs takes effect."""

from __future__ import annotations

from typing import Final

from rich.text import Text

_KEPT: Final = "\n\t"
_OVERRIDES: Final = frozenset(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))


def plain(text: object) -> Text:
    """The text as it may be shown. Control characters and direction overrides become U+FFFD."""
    return Text("".join("�" if _is_control(c) else c for c in str(text)))


def one_line(text: object, most: int = 120) -> Text:
    """On one line of at most `most` characters; a cut shows as `…`."""
    line = " ".join(str(text).split())
    return plain(line if len(line) <= most else line[: most - 1] + "…")


def _is_control(c: str) -> bool:
    return (ord(c) < 32 and c not in _KEPT) or 0x7F <= ord(c) < 0xA0 or c in _OVERRIDES or 0xD800 <= ord(c) < 0xE000
