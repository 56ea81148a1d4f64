"""Keeps engines alive: starts one again when it dies, tells whoever watches, stops all at the end."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from services.engines.child import Child

_log = logging.getLogger(__name__)
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
_HEALTHY_SECONDS = 30.0
_WATCH_BACKLOG = 100


class Engine(Protocol):
    """What is kept: something that can be started again and again."""

    @property
    def name(self) -> str: ...
    async def start(self) -> Child: ...


@dataclass(frozen=True, slots=True)
class EngineDied:
    """`exit_code` is minus the signal's number when a signal ended it."""

    engine: str
    exit_code: int
    output: str


@dataclass(frozen=True, slots=True)
class EngineRestarted:
    engine: str
    down_seconds: float


@dataclass(frozen=True, slots=True)
class RestartFailed:
    engine: str
    reason: str
    next_try_seconds: float


EngineEvent = EngineDied | EngineRestarted | RestartFailed


class Watch:
    """One listener's events, from the moment it was made. A slow one loses the oldest, 100 are kept."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[EngineEvent] = asyncio.Queue(_WATCH_BACKLOG)

    def put(self, event: EngineEvent) -> None:
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(event)

    async def next(self) -> EngineEvent:
        return await self._queue.get()

    async def __aiter__(self) -> AsyncIterator[EngineEvent]:
        while True:
            yield await self._queue.get()


class Keeping:
    """The engines of one folder, from their first start to their stop."""

    def __init__(self) -> None:
        self._children: dict[str, Child] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._watches: list[Watch] = []

    async def start(self, *engines: Engine) -> None:
        """All at once; when one fails the others are stopped by `stop`. Raises EngineError."""
        started = await asyncio.gather(*(self._first_start(e) for e in engines), return_exceptions=True)
        for outcome in started:
            if isinstance(outcome, BaseException):
                raise outcome
        self._tasks = [asyncio.create_task(self._keep(e), name=f"keep {e.name}") for e in engines]

    def watch(self) -> Watch:
        watch = Watch()
        self._watches.append(watch)
        return watch

    def pid(self, engine: str) -> int:
        return self._children[engine].pid

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(child.stop() for child in self._children.values()))

    async def _first_start(self, engine: Engine) -> None:
        self._children[engine.name] = await engine.start()

    async def _keep(self, engine: Engine) -> None:
        wait = _FIRST_WAIT
        while True:
            started = time.monotonic()
            child = self._children[engine.name]
            code = await child.wait()
            died = time.monotonic()
            _log.error("%s ended unexpectedly with %d; starting it again", engine.name, code)
            self._tell(EngineDied(engine.name, code, child.output()))
            wait = _FIRST_WAIT if died - started > _HEALTHY_SECONDS else wait
            wait = await self._start_again(engine, wait)
            self._tell(EngineRestarted(engine.name, time.monotonic() - died))
            _log.warning("%s is back after %.2f s", engine.name, time.monotonic() - died)

    async def _start_again(self, engine: Engine, wait: float) -> float:
        """Tries until it works, ever more slowly; the next wait, should it die again soon."""
        while True:
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
            try:
                self._children[engine.name] = await engine.start()
                return wait
            except Exception as error:  # keeping on is the point, whatever went wrong
                _log.exception("%s did not start again", engine.name)
                self._tell(RestartFailed(engine.name, str(error), wait))

    def _tell(self, event: EngineEvent) -> None:
        for watch in self._watches:
            watch.put(event)
