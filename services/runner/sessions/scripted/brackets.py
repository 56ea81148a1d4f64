"""Where directives stand in a text: `[[ … ]]`, one in another where the outer one takes words as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_MARKS: Final = re.compile(r"\[\[|\]\]")
INSIDE_MOST: Final = 32_000


def pairs(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of every `[[ … ]]` with its brackets, outer ones before those inside; in one pass."""
    open_at, found = list[int](), list[tuple[int, int]]()
    for mark in _MARKS.finditer(text):
        if mark.group() == "[[":
            open_at.append(mark.start())
        elif open_at:
            found.append((open_at.pop(), mark.end()))
    yield from sorted(found, key=lambda pair: (pair[0], -pair[1]))


def parted(text: str, mark: str = "|") -> list[str]:
    """The parts between marks that stand outside of brackets, trimmed, without empty ones."""
    parts, depth, start = list[str](), 0, 0
    for found in re.finditer(rf"\[\[|\]\]|{re.escape(mark)}", text):
        match found.group():
            case "[[":
                depth += 1
            case "]]":
                depth = max(0, depth - 1)
            case _ if depth == 0:
                parts.append(text[start : found.start()])
                start = found.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]
