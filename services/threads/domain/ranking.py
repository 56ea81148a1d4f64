"""The inbox's rank: by age and by how much waits behind a thread (design/threads.md, section 0.12)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from services.threads.domain.states import is_wait
from services.threads.domain.thread import Thread

HOUR: Final = timedelta(hours=1)


def behind(thread: Thread) -> int:
    """How many open threads cannot end before this one is decided: the ancestors that monitor it, and its open
    children.
    """
    return len(thread.path) + thread.open_children if is_wait(thread.state) else 0


def rank(thread: Thread) -> datetime:
    """Smaller comes first: since when it waits, UTC and without an offset, an hour earlier for each one behind it.

    A count alone would let a lone thread starve; this way every thread comes first in the end. The database computes
    the same (column inbox_at).
    """
    return (thread.since.astimezone(UTC) - (len(thread.path) + thread.open_children) * HOUR).replace(tzinfo=None)
