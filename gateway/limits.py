"""Limits of one principal: rate and open streams. In memory, one process's share; body size is checked on reading."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from gateway.refusals import TooManyRequests
from services.kernel.principal import Principal

_BURST_SECONDS: Final = 2.0
_KNOWN_MOST: Final = 10_000
"""Principals remembered; the one unseen for longest is forgotten first, and starts with a full bucket again."""

Key = tuple[str, str]


class Limits:
    """Token buckets and stream counts by (tenant, subject). Refuses with 429 and Retry-After."""

    def __init__(self, per_second: float, open_streams: int, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = per_second * _BURST_SECONDS
        self._open_most = open_streams
        self._now = now
        self._buckets: OrderedDict[Key, tuple[float, float]] = OrderedDict()
        self._open: dict[Key, int] = {}

    def spend(self, principal: Principal) -> None:
        """Takes one request from the principal's bucket."""
        key, now = (principal.tenant, principal.subject), self._now()
        tokens, at = self._buckets.get(key, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._per_second)
        if tokens < 1:
            wait = max(1, math.ceil((1 - tokens) / self._per_second))
            raise TooManyRequests(
                "RATE_LIMITED", f"more than {self._per_second:g} requests a second", {"retry-after": str(wait)}
            )
        self._buckets[key] = tokens - 1, now
        self._buckets.move_to_end(key)
        if len(self._buckets) > _KNOWN_MOST:
            self._buckets.popitem(last=False)

    @contextmanager
    def stream(self, principal: Principal) -> Iterator[None]:
        """Counts an open stream for as long as the block lasts."""
        key = principal.tenant, principal.subject
        if self._open.get(key, 0) >= self._open_most:
            raise TooManyRequests("TOO_MANY_STREAMS", f"more than {self._open_most} open streams", {"retry-after": "5"})
        self._open[key] = self._open.get(key, 0) + 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
