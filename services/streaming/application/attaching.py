"""Taking a session for a runner, and letting all go when this replica stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from services.kernel.errors import Unavailable
from services.streaming.application.agent_ports import Hold
from services.streaming.application.agents import AgentSide
from services.streaming.application.appenders import Appenders
from services.streaming.application.attachment import Attachment, Hears, Says, nobody_hears
from services.streaming.application.ports import SessionKey, SessionStore


class Attaching:
    """Hands out attachments."""

    def __init__(self, appenders: Appenders, store: SessionStore, agents: AgentSide | None = None) -> None:
        self._appenders = appenders
        self._store = store
        self._agents = agents
        self._tasks: set[asyncio.Task[object]] = set()
        self.closing = False

    @property
    def held(self) -> int:
        """How many sessions runners hold here."""
        return len(self._tasks)

    @asynccontextmanager
    async def attach(
        self, key: SessionKey, epoch: int, hold: Hold | None = None, taken: int = 0
    ) -> AsyncIterator[Attachment]:
        """The session, in a new epoch; older attachments to it are fenced. With a job (`hold`) its turn can be settled;
        `taken` is the newest command that its agent has. Entered and left by one task, which is cancelled when this
        replica drains."""
        if self.closing:
            raise Unavailable("STREAM_DRAINING", "this server is stopping")
        task = asyncio.current_task()
        assert task is not None
        attached = await self._store.attach(key, epoch, "" if hold is None else hold.job_id)
        async with self._appenders.of(key) as appender:
            async with appender.lock:
                appender.fence(attached.epoch)
                await appender.open()
                await appender.flush()
                tail = await appender.refreshed()
            self._tasks.add(task)
            try:
                hears: Hears = nobody_hears
                says: Says | None = None
                scan = None
                if hold is not None and self._agents is not None:
                    scan = await self._agents.attached(hold, taken)
                    hears = partial(self._agents.hear, hold)
                    says = partial(self._agents.said, hold)
                yield Attachment(appender, attached, tail.generation, tail.origin, hears, scan, says)
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
