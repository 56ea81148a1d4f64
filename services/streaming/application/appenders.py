"""The appenders of this replica: one per session, for as long as somebody appends to it; and the sweep of what is
pending though nobody does (S.2)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.kernel.bus import Bell
from services.kernel.errors import Refusal
from services.kernel.telemetry import get_logger
from services.streaming.application.appender import SessionAppender
from services.streaming.application.ports import SessionKey, SessionLog, SessionStore

_SWEEP_SECONDS = 1.0
_SWEEP_MOST = 200
_log = get_logger("streaming.appenders")


class Appenders:
    """Hands out appenders; those of one session share one."""

    def __init__(self, log: SessionLog, store: SessionStore) -> None:
        self._log = log
        self._store = store
        self._held: dict[SessionKey, tuple[SessionAppender, int]] = {}

    @asynccontextmanager
    async def of(self, key: SessionKey) -> AsyncIterator[SessionAppender]:
        """The session's appender, kept while anybody holds it."""
        appender, holders = self._held.get(key) or (SessionAppender(key, self._log, self._store), 0)
        self._held[key] = (appender, holders + 1)
        try:
            yield appender
        finally:
            _, holders = self._held[key]
            if holders > 1:
                self._held[key] = (appender, holders - 1)
            else:
                del self._held[key]

    async def flush(self, key: SessionKey) -> int:
        """Opens the session's log if need be, and appends its pending state events."""
        async with self.of(key) as appender, appender.lock:
            await appender.open()
            return await appender.flush()

    async def sweep(self, bell: Bell) -> None:
        """Every second, or when pinged: appends what is pending in any session. Runs until cancelled."""
        while True:
            swept = 0
            for key in await self._store.with_pending(_SWEEP_MOST):
                try:
                    swept += await self.flush(key)
                except Refusal as refusal:
                    _log.warning("sweep.waits", session=key.session, reason=refusal.reason)
            if not swept:
                await bell.wait(_SWEEP_SECONDS)
