"""What one part of Treadle logged. Tests share a process and a loop: what others say meanwhile is not theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from structlog.testing import capture_logs
from structlog.typing import EventDict


@contextmanager
def logs_of(*components: str) -> Iterator[list[EventDict]]:
    """What loggers of these names (`get_logger(name)`) say inside; the list is whole when the context has ended."""
    said: list[EventDict] = []
    with capture_logs() as all_said:
        try:
            yield said
        finally:
            said.extend(entry for entry in all_said if entry.get("component") in components)
