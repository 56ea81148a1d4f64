"""What an openai endpoint's faults mean. Their words are read here and told nobody: they may quote what was sent."""

from __future__ import annotations

import re
from typing import Final

import openai

_OVERFLOW: Final = re.compile(
    r"context.?(length|window|size)|maximum context|too many tokens|prompt is too long", re.IGNORECASE
)
_OVERFLOW_STATUSES: Final = frozenset({400, 413, 422, 500})
"""500: llama.cpp's server, before it learned 400."""


def is_overflow(fault: openai.APIStatusError) -> bool:
    """The conversation is longer than the model can hold: by the code where there is one, else by the words, as
    endpoints agree on neither."""
    if fault.status_code not in _OVERFLOW_STATUSES:
        return False
    return any(_OVERFLOW.search(str(words)) is not None for words in (fault.code, fault.type, fault.message))


def is_timeout(fault: BaseException) -> bool:
    """The library lets some timeouts in mid-stream through as the transport raises them."""
    return isinstance(fault, TimeoutError) or "Timeout" in type(fault).__name__
