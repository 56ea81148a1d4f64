"""How background duties live: over a database or a neighbour that is away for however long, told of once, and with one
faulty item that never stops the others (PUB07)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from services.kernel import telemetry
from services.kernel.errors import Conflict, Refusal, Unavailable

_FIRST: Final = 0.5
_MOST: Final = 5.0
_FAULTY_FIRST: Final = 2.0
_FAULTY_MOST: Final = 300.0
_KEPT: Final = 10_000
_SAME: Final = 30.0
"""Seconds without trouble after which the same trouble is news."""


class Persevering:
    """One a duty."""

    def __init__(self, duty: str) -> None:
        self._duty = duty
        self._log = telemetry.get_logger(f"coordination.{duty}")
        self._seen: dict[str, float] = {}
        self._pauses: dict[str, tuple[float, float]] = {}

    async def forever(
        self,
        once: Callable[[], Awaitable[object]],
        every: float,
        rest: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`once` again and again, with a rest of so many seconds. Never ends by itself."""
        while True:
            try:
                await once()
            except Conflict:
                pass  # others are at it: at the next round it is clearer
            except Unavailable as refusal:
                self._gone(refusal)
            except Exception:
                telemetry.DUTY_FAILURES.labels(f"coordination.{self._duty}").inc()
                self._log.exception("duty.failed", duty=self._duty)
                await asyncio.sleep(_FAULTY_FIRST)
            await rest(every)

    async def attempt(self, key: str, item: Callable[[], Awaitable[bool]]) -> bool:
        """One item of a round; whether it is done. False, an unavailable neighbour or a fault: it is left alone for a
        growing while."""
        now = asyncio.get_running_loop().time()
        pause, at = self._pauses.get(key, (0.0, 0.0))
        if now < at:
            return False
        try:
            if await item():
                self._pauses.pop(key, None)
                return True
            self._pause(key, max(_FIRST, pause * 2), _MOST)
        except Unavailable as refusal:
            self._gone(refusal)
            self._pause(key, _FIRST, _MOST)
        except Conflict:
            self._pause(key, _FIRST, _MOST)
        except Exception as fault:
            telemetry.DUTY_FAILURES.labels(f"coordination.{self._duty}").inc()
            reason = fault.reason if isinstance(fault, Refusal) else ""
            self._log.exception("duty.item_failed", duty=self._duty, item=key, reason=reason)
            self._pause(key, max(_FAULTY_FIRST, pause * 4), _FAULTY_MOST)
        return False

    def _pause(self, key: str, seconds: float, most: float) -> None:
        if len(self._pauses) >= _KEPT:
            self._pauses.clear()
        seconds = min(seconds, most)
        self._pauses[key] = (seconds, asyncio.get_running_loop().time() + seconds)

    def _gone(self, refusal: Unavailable) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._seen.get(refusal.reason, -_SAME) >= _SAME:
            self._log.warning("duty.waits", duty=self._duty, reason=refusal.reason)
        self._seen[refusal.reason] = now


def pause(attempts: int, most: timedelta) -> timedelta:
    """Of what is tried again at a time of its own, in its row: 1, 2, 4 … seconds, at most so long."""
    return min(timedelta(seconds=2.0 ** min(attempts, 10)), most)
