"""Wakes whoever waits for what a commit wrote: the relay, runners that wait for jobs, waiters for a coordinator's
workers, and the duties that stop sessions and wake coordinators. A lost ping is what polling is for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

from services.coordination.domain.facts import scope_of
from services.kernel.bus import Bell, Bus
from services.kernel.outbox import wake_subject

JOBS_SUBJECT: Final = "wake.jobs.coordination"
DUTIES_SUBJECT: Final = "wake.coordination.duties"


class Wake:
    """Pings after commits, bells for those who wait."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def committed(self, coordinators: Iterable[str], *, facts: bool, jobs: bool, duties: bool) -> None:
        """After a commit; never fails. `coordinators`: session ids of which something changed."""
        if facts:
            await self._bus.ping(wake_subject("coordination"))
        if jobs:
            await self._bus.ping(JOBS_SUBJECT)
        if duties:
            await self._bus.ping(DUTIES_SUBJECT)
        for session_id in coordinators:
            await self._bus.ping(workers_subject(session_id))

    @asynccontextmanager
    async def of_workers(self, coordinator_id: str) -> AsyncIterator[Bell]:
        """Rung when something changed about a coordinator's workers."""
        async with self._bus.listen(workers_subject(coordinator_id)) as bell:
            yield bell

    @asynccontextmanager
    async def of_jobs(self) -> AsyncIterator[Bell]:
        """Rung when a job was queued."""
        async with self._bus.listen(JOBS_SUBJECT) as bell:
            yield bell

    @asynccontextmanager
    async def of_duties(self) -> AsyncIterator[Bell]:
        """Rung when a session is to be stopped or a coordinator to be woken."""
        async with self._bus.listen(DUTIES_SUBJECT) as bell:
            yield bell


def workers_subject(coordinator_id: str) -> str:
    """What is pinged when something changed about a coordinator's workers."""
    return f"wake.workers.{scope_of(coordinator_id)}"
