"""How long to wait before asking again: doubling with full jitter, so that runners do not come back as one."""

from __future__ import annotations

import random
from collections.abc import Iterator

FIRST_SECONDS = 0.1
MOST_SECONDS = 5.0


def delays(first: float = FIRST_SECONDS, most: float = MOST_SECONDS) -> Iterator[float]:
    """Endless delays in seconds: between half of and all of 0.1, 0.2, 0.4 … 5."""
    ceiling = first
    while True:
        yield random.uniform(ceiling / 2, ceiling)
        ceiling = min(ceiling * 2, most)
