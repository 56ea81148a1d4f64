"""When an agent leaves without being lost: between two turns, where its runner stops or others need its place, and only
if its owner agrees, who may have given it another turn meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from services.kernel.errors import NotAllowed, Refusal

_AGAIN_SECONDS: Final = 0.1


class Leaving:
    """Of one agent. `idle` and `busy` say how it is, `once` and `for_good` that it should go."""

    def __init__(self) -> None:
        self._idle_since: float | None = None
        self._idle = asyncio.Event()
        self._asked = asyncio.Event()
        self._for_good = False

    @property
    def idle_seconds(self) -> float:
        """0 in a turn, before the first moment, and while it is about to leave."""
        if self._idle_since is None or self._asked.is_set():
            return 0.0
        return time.monotonic() - self._idle_since

    def idle(self) -> None:
        """It has nothing to do."""
        self._idle_since = time.monotonic()
        self._idle.set()

    def busy(self) -> None:
        """It has a turn."""
        self._idle_since = None
        self._idle.clear()

    def once(self) -> None:
        """Go, if there is nothing to do now."""
        if self._idle.is_set():
            self._asked.set()

    def for_good(self) -> None:
        """Go as soon as there is nothing to do."""
        self._for_good = True
        self._asked.set()

    async def when_idle(self, leave: Callable[[], Awaitable[None]]) -> None:
        """Ends when it has left. An owner that cannot be asked is no reason to stay where the runner stops."""
        while True:
            await self._asked.wait()
            if not self._for_good and not self._idle.is_set():
                self._asked.clear()
                continue
            await self._idle.wait()
            try:
                await leave()
                return
            except NotAllowed:
                await asyncio.sleep(_AGAIN_SECONDS)
            except Refusal:
                if self._for_good:
                    return
                await asyncio.sleep(_AGAIN_SECONDS)
            if not self._for_good:
                self._asked.clear()
