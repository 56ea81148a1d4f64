"""The hubs of a process: one per watched stream, made for its first reader, freed a little after its last
one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from services.kernel.frames import Frame
from services.kernel.hub import Hub, HubLimits, Reader, Source
from services.kernel.telemetry import get_logger

Key = TypeVar("Key")
_LONGEST_PAUSE = 2.0


@dataclass(slots=True)
class _Watched:
    hub: Hub
    task: asyncio.Task[None]
    readers: int = 0
    farewell: asyncio.TimerHandle | None = None


class Hubs(Generic[Key]):
    """`source_of(key)` makes the source of a stream; `encode` the bytes its readers share; `linger` is how
    many seconds a hub without readers is kept for those that come back."""

    def __init__(
        self,
        source_of: Callable[[Key], Source],
        encode: Callable[[Frame], bytes],
        limits: HubLimits | None = None,
        linger: float = 5.0,
    ) -> None:
        self._source_of = source_of
        self._encode = encode
        self._limits = limits or HubLimits()
        self._linger = linger
        self._watched: dict[Key, _Watched] = {}
        self._closed: str | None = None
        self._log = get_logger("kernel.hubs")

    @asynccontextmanager
    async def reader(self, key: Key, cursor: str | None) -> AsyncIterator[Reader]:
        """A reader of the stream `key` that goes on after `cursor`; leaving the block frees everything."""
        watched = self._watched.get(key) or self._watch(key)
        watched.readers += 1
        if watched.farewell is not None:
            watched.farewell.cancel()
            watched.farewell = None
        reader = watched.hub.attach(cursor)
        try:
            yield reader
        finally:
            watched.readers -= 1
            if not watched.readers:
                loop = asyncio.get_running_loop()
                watched.farewell = loop.call_later(self._linger, self._forget, key, watched)
            await reader.close()

    @property
    def readers(self) -> int:
        """How many readers there are, over all streams."""
        return sum(watched.hub.readers for watched in self._watched.values())

    @property
    def streams(self) -> int:
        """How many streams are watched."""
        return len(self._watched)

    def source(self, key: Key) -> Source | None:
        """The source of a watched stream."""
        watched = self._watched.get(key)
        return None if watched is None else watched.hub.source

    def drop(self, key: Key, reason: str) -> None:
        """Ends a stream's readers with `reason` and forgets it: whoever comes next begins anew."""
        watched = self._watched.pop(key, None)
        if watched is not None:
            watched.hub.close(reason)
            watched.task.cancel()

    async def run(self) -> None:
        """Gives silent readers their empty answers; runs until cancelled. Spawn it once a process."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(1.0, self._limits.idle / 4))
            for watched in list(self._watched.values()):
                watched.hub.wake_idle(loop.time())

    async def close(self, reason: str = "drain") -> None:
        """Ends every reader with `reason`, refuses later ones with it, and stops the sources."""
        self._closed = reason
        watched = list(self._watched.values())
        for one in watched:
            one.hub.close(reason)
            one.task.cancel()
            if one.farewell is not None:
                one.farewell.cancel()
        for one in watched:
            with suppress(asyncio.CancelledError):
                await one.task
        self._watched.clear()

    def _watch(self, key: Key) -> _Watched:
        hub = Hub(self._source_of(key), self._encode, self._limits)
        if self._closed is not None:
            hub.close(self._closed)
        task = asyncio.create_task(self._feed(hub), name=f"hub {key}")
        watched = self._watched[key] = _Watched(hub, task)
        return watched

    def _forget(self, key: Key, watched: _Watched) -> None:
        if watched.readers == 0:
            watched.task.cancel()
            if self._watched.get(key) is watched:
                del self._watched[key]

    async def _feed(self, hub: Hub) -> None:
        """Runs the source for ever; a failure is logged and tried again, readers keep what they have."""
        pause = 0.05
        while self._closed is None:
            started = asyncio.get_running_loop().time()
            try:
                await hub.source.run(hub)
            except Exception:
                self._log.warning("stream_source_failed", exc_info=True)
            if asyncio.get_running_loop().time() - started > _LONGEST_PAUSE:
                pause = 0.05
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
