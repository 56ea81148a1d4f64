"""What was sent under a key and when it came back: latencies from a scheduled moment to an arrival elsewhere."""

from __future__ import annotations

import asyncio


class Arrivals:
    """Keys that are awaited, and the milliseconds of those that came. An arrival that nobody awaits is ignored."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._news = asyncio.Event()
        self.milliseconds: list[float] = []

    def expect(self, key: str, due: float) -> None:
        """From now on it may come."""
        self._due[key] = due

    def came(self, key: str, at: float) -> None:
        """It came; only the first time counts."""
        due = self._due.pop(key, None)
        if due is not None:
            self.milliseconds.append((at - due) * 1000)
            self._news.set()

    async def all_came(self, seconds: float = 20) -> None:
        """Waits until nothing is awaited; TimeoutError when something is lost."""
        async with asyncio.timeout(seconds):
            while self._due:
                self._news.clear()
                await self._news.wait()
