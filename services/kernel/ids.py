"""Ids: a prefix that says what it is and a UUIDv7 (RFC 9562), so that ids sort by time of birth."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable

_HEX = re.compile(r"[0-9a-f]{32}")
_lock = threading.Lock()
_last = 0

NewId = Callable[[str], str]
"""Makes an id with the given prefix; injected where a domain needs ids."""


def new_id(prefix: str) -> str:
    """A new id such as `thr_0193…` (prefix, underscore, 32 lower-case hex digits); rising within a process."""
    return f"{prefix}_{_uuid7():032x}"


def is_id(prefix: str, text: str) -> bool:
    """Whether the text is an id of that prefix. Anything else is refused before it reaches a query."""
    head, _, tail = text.partition("_")
    return head == prefix and _HEX.fullmatch(tail) is not None


def _uuid7() -> int:
    """48 bits of milliseconds, 12 of sub-millisecond time, version and variant, 62 of randomness."""
    global _last
    now = time.time_ns()
    with _lock:
        # Two ids of one process never share their time part: order of birth is order of the ids.
        _last = max(now, _last + 245)
        now = _last
    milliseconds, rest = divmod(now, 1_000_000)
    fraction = rest * 4096 // 1_000_000
    random = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    return (milliseconds & ((1 << 48) - 1)) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random
