"""How a deployable lives: built in order, supervised duties, drained on SIGTERM, cleaned up in reverse."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypeVar

import uvloop

from services.kernel import telemetry
from services.kernel.errors import Unavailable
from services.kernel.settings import CommonSettings, SettingsFault, load

_log = telemetry.get_logger("lifecycle")
_BACKOFF_FIRST: Final = 0.2
_BACKOFF_MOST: Final = 5.0

AsyncFn = Callable[[], Awaitable[object]]
_S = TypeVar("_S", bound=CommonSettings)


@dataclass(frozen=True, slots=True)
class Bound:
    """A built deployable: where it answers."""

    name: str
    address: str


class Lifecycle:
    """Owns what a deployable started. Leaving the context drains, then cleans up in reverse order of building."""

    def __init__(self, name: str, drain_seconds: float) -> None:
        self.name = name
        self.drain_seconds = drain_seconds
        self._stack = AsyncExitStack()
        self._drains: list[AsyncFn] = []
        self._duties: list[asyncio.Task[None]] = []
        self._drained = False

    def push(self, cleanup: AsyncFn) -> None:
        """Registers a clean-up; the last one registered runs first."""

        async def run() -> None:
            await cleanup()

        self._stack.push_async_callback(run)

    def on_drain(self, step: AsyncFn) -> None:
        """Registers a step of the drain, in order: health first, then streams, then the server."""
        self._drains.append(step)

    def spawn(self, duty: str, run: AsyncFn) -> None:
        """Runs a duty for as long as the deployable lives. A failure is logged, counted and tried again."""
        self._duties.append(asyncio.create_task(self._supervise(duty, run), name=f"{self.name}.{duty}"))

    async def drain(self) -> None:
        """Runs the drain steps once; each has what is left of drain_seconds. A failing step does not stop the rest."""
        if self._drained:
            return
        self._drained = True
        deadline = asyncio.get_running_loop().time() + self.drain_seconds
        for step in self._drains:
            try:
                async with asyncio.timeout_at(deadline):
                    await step()
            except Exception:
                _log.exception("drain.step_failed", deployable=self.name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain()
        for task in self._duties:
            task.cancel()
        await asyncio.gather(*self._duties, return_exceptions=True)
        await self._stack.aclose()
        _log.info("stopped", deployable=self.name)

    async def _supervise(self, duty: str, run: AsyncFn) -> None:
        backoff = _BACKOFF_FIRST
        while True:
            begin = asyncio.get_running_loop().time()
            try:
                await run()
            except Unavailable as refusal:
                telemetry.DUTY_FAILURES.labels(f"{self.name}.{duty}").inc()
                _log.warning("duty.waits", deployable=self.name, duty=duty, reason=refusal.reason, again_in=backoff)
            except Exception:
                telemetry.DUTY_FAILURES.labels(f"{self.name}.{duty}").inc()
                _log.exception("duty.failed", deployable=self.name, duty=duty, again_in=backoff)
            if asyncio.get_running_loop().time() - begin > 30:
                backoff = _BACKOFF_FIRST
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, _BACKOFF_MOST)


Build = Callable[[_S, Lifecycle], Awaitable[Bound]]


def stop_signal() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set; a second signal of either kind ends the process at once."""
    stop = asyncio.Event()

    def told() -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told)
    return stop


def settle_memory() -> None:
    """What was built lives as long as the process: the collector need not walk it again and again."""
    gc.collect()
    gc.freeze()


def serve(name: str, kind: type[_S], build: Build[_S]) -> None:
    """The main of a deployable in its own process: settings, logs, build, wait for a signal, drain. Exit code 0;
    2 for settings that are wrong (all told at once)."""
    try:
        settings = load(kind)
    except SettingsFault as fault:
        print(f"treadle {name}: the settings are wrong\n{fault}", file=sys.stderr)
        sys.exit(2)
    telemetry.configure_logging(settings.log_level, settings.log_format)

    async def run() -> None:
        stop = stop_signal()
        async with Lifecycle(name, settings.drain_seconds) as life:
            bound = await build(settings, life)
            settle_memory()
            _log.info("ready", deployable=bound.name, address=bound.address)
            await stop.wait()
            _log.info("draining", deployable=name)

    uvloop.run(run())
