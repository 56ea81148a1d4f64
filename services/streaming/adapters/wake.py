"""Wakes whoever waits for what a commit wrote: the relay, runners' long-polls, a session's attachment, its stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from services.kernel.bus import Bell, Bus, token
from services.kernel.errors import Refusal
from services.kernel.outbox import wake_subject
from services.kernel.telemetry import get_logger
from services.streaming.application.appenders import Appenders
from services.streaming.application.ports import SessionKey
from services.streaming.application.sessions import SWEEP_SUBJECT

JOBS_SUBJECT: Final = "wake.jobs.streaming"
_log = get_logger("streaming.wake")


class Wake:
    """The stream is written in the background: a command's answer does not wait for it."""

    def __init__(self, bus: Bus, appenders: Appenders) -> None:
        self._bus = bus
        self._appenders = appenders
        self._tasks: set[asyncio.Task[None]] = set()

    async def committed(self, sessions: Sequence[SessionKey], *, jobs: bool) -> None:
        """After a commit; never fails."""
        if jobs:
            await self._bus.ping(JOBS_SUBJECT)
        if sessions:
            await self._bus.ping(wake_subject("streaming"))
        for key in sessions:
            await self._bus.ping(_subject(key))
            task = asyncio.create_task(self._flush(key), name="streaming.flush")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @asynccontextmanager
    async def of_session(self, key: SessionKey) -> AsyncIterator[Bell]:
        """Rung when something was written about the session."""
        async with self._bus.listen(_subject(key)) as bell:
            yield bell

    @asynccontextmanager
    async def of_jobs(self) -> AsyncIterator[Bell]:
        """Rung when a job was queued."""
        async with self._bus.listen(JOBS_SUBJECT) as bell:
            yield bell

    async def close(self) -> None:
        """What is being written is written, or is the sweep's."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=2)
            for task in late:
                task.cancel()

    async def _flush(self, key: SessionKey) -> None:
        try:
            await self._appenders.flush(key)
        except Refusal as refusal:
            _log.warning("session.stream_waits", session=key.session, reason=refusal.reason)
            await self._bus.ping(SWEEP_SUBJECT)


def _subject(key: SessionKey) -> str:
    return f"wake.session.{token(key.session)}"
