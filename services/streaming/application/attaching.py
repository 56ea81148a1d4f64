"""Taking a session for a runner, and letting all go when this replica stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol

from services.kernel.errors import Unavailable
from services.streaming.application.agent_ports import Hold
from services.streaming.application.agents import AgentNews
from services.streaming.application.appenders import Appenders
from services.streaming.application.attachment import Attachment
from services.streaming.application.gating import GateOutcome
from services.streaming.application.ports import SessionStore
from services.streaming.domain.turn_scan import TurnScan


class TurnsHeld(Protocol):
    """What becomes of the turn of a session that is held."""

    async def attached(self, hold: Hold, taken: int) -> TurnScan:
        """A runner is there with an agent; answers what the turn under way has said so far."""
        ...

    async def hear(self, hold: Hold, news: AgentNews, scan: TurnScan) -> GateOutcome | None:
        """As `Hears`."""
        ...

    async def said(self, hold: Hold) -> bool:
        """As `Says`."""
        ...


class Attaching:
    """Hands out attachments."""

    def __init__(self, appenders: Appenders, store: SessionStore, turns: TurnsHeld) -> None:
        self._appenders = appenders
        self._store = store
        self._turns = turns
        self._tasks: set[asyncio.Task[object]] = set()
        self.closing = False

    @property
    def held(self) -> int:
        """How many sessions runners hold here."""
        return len(self._tasks)

    @asynccontextmanager
    async def attach(self, hold: Hold, epoch: int, taken: int) -> AsyncIterator[Attachment]:
        """The session, in a new epoch; older attachments to it are fenced. `epoch`: of the runner's newest answer, or
        0; `taken`: the newest command that its agent has. Entered and left by one task, which is cancelled when this
        replica drains."""
        if self.closing:
            raise Unavailable("STREAM_DRAINING", "this server is stopping")
        task = asyncio.current_task()
        assert task is not None
        attached = await self._store.attach(hold.key, epoch, hold.job_id)
        async with self._appenders.of(hold.key) as appender:
            async with appender.lock:
                appender.fence(attached.epoch)
                await appender.open()
                await appender.flush()
                tail = await appender.refreshed()
            self._tasks.add(task)
            try:
                scan = await self._turns.attached(hold, taken)
                hears, says = partial(self._turns.hear, hold), partial(self._turns.said, hold)
                yield Attachment(appender, attached, tail, hears, says, scan)
            except asyncio.CancelledError:
                if not self.closing:
                    raise
                task.uncancel()
            finally:
                self._tasks.discard(task)

    async def close(self) -> None:
        """Lets every runner go; what they sent and was not acknowledged they send again elsewhere."""
        self.closing = True
        for task in list(self._tasks):
            task.cancel()
