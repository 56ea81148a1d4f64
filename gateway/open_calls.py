"""Calls that last: counted while they run, and ended by the drain, so that none of them holds up the process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from services.kernel.errors import Unavailable

_T = TypeVar("_T")
_GOING: Final = "the gateway is stopping: try again"


class OpenCalls:
    """The long calls under way. After `close` new ones are refused at once."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Its result; Unavailable (SHUTTING_DOWN) where the gateway stops first. Cancelled with its caller."""
        if self._closing:
            work.close()
            raise Unavailable("SHUTTING_DOWN", _GOING)
        task = asyncio.create_task(work)
        self._tasks.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self._tasks.discard(task)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if task.cancelled():
            raise Unavailable("SHUTTING_DOWN", _GOING)
        return task.result()

    async def close(self) -> None:
        """Ends them all: a step of the drain."""
        self._closing = True
        for task in self._tasks:
            task.cancel()
