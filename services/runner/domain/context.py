"""What is put before an agent besides the words of the person (design/coordination.md C.6): appended, and marked off.

The stream and the messages of the session keep the person's words alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

OPEN: Final = "<treadle-context>"
CLOSE: Final = "</treadle-context>"


def joined(texts: Iterable[str]) -> str:
    """Several texts as one; none of them can close the section early."""
    return "\n\n".join(text.replace(CLOSE, "<\\/treadle-context>").strip() for text in texts if text.strip())


def with_context(words: str, context: str) -> str:
    """The words, an empty line, and the section; the words alone where there is no context."""
    return f"{words}\n\n{OPEN}\n{context}\n{CLOSE}" if context else words
