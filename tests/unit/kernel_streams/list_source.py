"""A log in a list, as a source of a hub: the rules of D1.3 over what a list keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from services.kernel import cursors, frames
from services.kernel.cursors import Position
from services.kernel.frames import Frame
from services.kernel.hub import Hub, Replayed


class ListSource:
    """`say` appends; the hub hears of it when `hears` is set (a hub may lag behind its log)."""

    def __init__(self, generation: int = 1, kept: int = 1_000_000) -> None:
        self.generation = generation
        self.kept = kept
        self.hears = True
        self.replays = 0
        self._log: list[Frame] = []
        self._said = 0
        self._told = 0
        self._news = asyncio.Event()

    def say(self, count: int = 1, size: int = 1) -> None:
        """Appends events."""
        for _ in range(count):
            self._said += 1
            line = frames.line_of_json({"n": self._said, "pad": "x" * size})
            self._log.append(Frame(f"{self.generation}-{self._said}", "e", line))
        del self._log[: -self.kept]
        self._news.set()

    def begin_anew(self) -> None:
        """Another generation."""
        self.generation += 1
        self._log, self._said, self._told = [], 0, -1
        self._news.set()

    async def run(self, hub: Hub) -> None:
        """Gives the hub what is new, in order."""
        first = self._said - len(self._log)
        hub.prime(Position(self.generation, first), complete=True)
        self._told = first
        while True:
            if self._told < 0:
                hub.restart(Position(self.generation, 0), complete=True)
                self._told = 0
            if self.hears and self._told < self._said:
                hub.publish(self._log[self._told - self._said :])
                self._told = self._said
            hub.ready()
            self._news.clear()
            await self._news.wait()

    def listen(self) -> None:
        """The hub catches up."""
        self.hears = True
        self._news.set()

    async def replay(self, cursor: str) -> AsyncGenerator[Replayed, None]:
        """From the list, ten at a time."""
        self.replays += 1
        first, last = self._said - len(self._log) + 1, self._said
        start = cursors.start_of(cursors.parse(cursor), self.generation, first, last, bare=True)
        given = [frames.reset(start.reset, f"{self.generation}-{first}")] if start.reset else []
        after = max(start.after, first - 1)
        yield Replayed(given, str(Position(self.generation, after)))
        while after < last:
            await asyncio.sleep(0)
            chunk = [frame for frame in self._log if after < int(frame.id.split("-")[1]) <= after + 10]
            after = int(chunk[-1].id.split("-")[1])
            yield Replayed(chunk, chunk[-1].id)
