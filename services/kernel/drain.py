"""The drain of a process, as those see it who wait: they are told at once. Knows nobody's work."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Drain:
    """Begins once and does not end."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()

    @property
    def begun(self) -> bool:
        """Whether this process stops."""
        return self._begun.is_set()

    async def begin(self) -> None:
        """For Lifecycle.on_drain."""
        self._begun.set()

    async def cuts_short(self, wait: Coroutine[Any, Any, object]) -> None:
        """Waits, at most until the drain begins: then the wait is cancelled, and has ended when this returns. What
        fails in it is raised."""
        waiting, draining = asyncio.create_task(wait), asyncio.create_task(self._begun.wait())
        try:
            await asyncio.wait((waiting, draining), return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                waiting.result()
        finally:
            for task in (waiting, draining):
                task.cancel()
            await asyncio.gather(waiting, draining, return_exceptions=True)
