"""Large texts in pages (C.4, PUB23): a page has at most PAGE_BYTES bytes of UTF-8 and whole code points."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from services.coordination.domain.limits import PAGE_BYTES


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page. `begin`, `end`: its bytes; `length`: code points of the whole text; `sha256`: of the whole text."""

    text: str
    begin: int
    end: int
    last: bool
    length: int
    sha256: str


def page_of(text: str, begin: int) -> TextPage | None:
    """The page that begins at this byte; None where none can."""
    data = text.encode()
    end = min(begin + PAGE_BYTES, len(data))
    if not 0 <= begin <= end or not _whole(data, begin):
        return None
    while not _whole(data, end):
        end -= 1
    shown = data[begin:end].decode()
    return TextPage(shown, begin, end, end == len(data), len(text), hashlib.sha256(data).hexdigest())


def _whole(data: bytes, at: int) -> bool:
    """Whether no code point lies across this place."""
    return at == len(data) or data[at] & 0xC0 != 0x80
