"""Drives branches to their end (P.3), step by step: each is done in streaming, idempotent by the branch's id, and then
recorded here. Whoever stops anywhere, another one goes on from the record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Final

from services.kernel.clock import Clock
from services.kernel.errors import Conflict, DeadlineExceeded, Denied, Refusal, Unauthenticated, Unavailable
from services.kernel.telemetry import get_logger
from services.planning.application.branching import told_of
from services.planning.application.ports import Conversations
from services.planning.application.work import Work, Workshop
from services.planning.domain.branch import LEASE, Branch, Saga, pause_after
from services.planning.domain.workspace import Making, Workspace

_POLL: Final = 1.0
"""Seconds between two looks for branches that nobody drives."""
_PATIENCE: Final = 5.0
"""Seconds that a caller waits for a branch to be ready; then it is answered as `forking`."""
_AT_ONCE: Final = 16
"""Branches that a replica drives at the same time by its own account."""
_log = get_logger("planning.driving")


class Driving:
    """A replica's driver. Two that drive one branch do no harm: every step may be repeated."""

    def __init__(self, workshop: Workshop, conversations: Conversations, clock: Clock) -> None:
        self._workshop = workshop
        self._conversations = conversations
        self._clock = clock
        self._tasks: set[asyncio.Task[Branch]] = set()

    async def drive_now(self, branch: Branch) -> Branch:
        """Drives it in the background, whatever becomes of the caller; answers how far it is by then."""
        task = self._begin(branch)
        done, _ = await asyncio.wait({task}, timeout=_PATIENCE)
        return task.result() if done else branch

    async def run(self) -> None:
        """A background duty: goes on with branches that nobody drives, several at once: one that hangs holds up no
        other."""
        while True:
            while len(self._tasks) < _AT_ONCE and (branch := await self._due()) is not None:
                self._begin(branch)
            await asyncio.sleep(_POLL)

    async def _due(self) -> Branch | None:
        async with self._workshop.work() as work:
            return await work.due_branch(self._clock.now())

    def _begin(self, branch: Branch) -> asyncio.Task[Branch]:
        task = asyncio.create_task(self._insist(branch), name="planning.branch")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """What is under way is another one's to go on with, after its lease."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2)

    async def _insist(self, branch: Branch) -> Branch:
        """As `drive`; trouble of any kind puts the branch off, and the others go on."""
        try:
            return await self.drive(branch)
        except Refusal as refusal:
            _log.warning("branch.waits", branch=branch.session_id, state=branch.state, reason=refusal.reason)
        except Exception:
            _log.exception("branch.failed", branch=branch.session_id, state=branch.state)
        try:
            return await self._put_off(branch)
        except Refusal:
            return branch  # its lease runs out

    async def drive(self, branch: Branch) -> Branch:
        """Step by step, until it is ready or failed. Raises what kept it."""
        while True:
            match branch.state:
                case Saga.FORKING:
                    branch = await self._step(branch, self._conversations.fork, self._opening)
                case Saga.OPENING:
                    branch = await self._step(branch, self._conversations.open, self._ready)
                case Saga.ABANDONING:
                    await self._conversations.abandon(branch)
                    branch = await self._failed(branch)
                case Saga.READY | Saga.FAILED:
                    return branch

    async def _step(
        self,
        branch: Branch,
        do: Callable[[Branch], Awaitable[None]],
        record: Callable[[Branch], Awaitable[Branch]],
    ) -> Branch:
        try:
            await do(branch)
        except Refusal as refusal:
            if is_passing(refusal):
                raise
            _log.warning("branch.refused", branch=branch.session_id, state=branch.state, reason=refusal.reason)
            return await self._give_up(branch, refusal.reason)
        return await record(branch)

    async def _opening(self, branch: Branch) -> Branch:
        """Streaming has the session."""
        async with self._record(branch) as (work, now, workspace):
            if now.state is not Saga.FORKING:
                return now
            if workspace is None:
                return await self._save(work, now, Saga.ABANDONING, "SESSION_DELETED")
            await work.save(replace(workspace, making=Making.OPENING))
            return await self._save(work, now, Saga.OPENING)

    async def _ready(self, branch: Branch) -> Branch:
        """Streaming takes prompts."""
        async with self._record(branch) as (work, now, workspace):
            if now.state is not Saga.OPENING:
                return now
            if workspace is None:
                return await self._save(work, now, Saga.ABANDONING, "SESSION_DELETED")
            if workspace.making is not Making.READY:
                await work.save(replace(workspace, making=Making.READY))
            return await self._save(work, now, Saga.READY)

    async def _give_up(self, branch: Branch, reason: str) -> Branch:
        """Refused for good: it is taken back everywhere."""
        async with self._record(branch) as (work, now, _):
            if now.state not in (Saga.FORKING, Saga.OPENING):
                return now
            return await self._save(work, now, Saga.ABANDONING, reason)

    async def _failed(self, branch: Branch) -> Branch:
        """Streaming has dropped it; so does planning."""
        async with self._record(branch) as (work, now, workspace):
            if now.state is not Saga.ABANDONING:
                return now
            if workspace is not None:
                await work.delete(workspace, self._clock.now())
            return await self._save(work, now, Saga.FAILED)

    async def _put_off(self, branch: Branch) -> Branch:
        """Not now: later."""
        async with self._record(branch) as (work, now, _):
            if now.state in (Saga.READY, Saga.FAILED):
                return now
            attempts = now.attempts + 1
            later = replace(now, attempts=attempts, due_at=self._clock.now() + pause_after(attempts))
            await work.save_branch(later)
            return later

    def _record(self, branch: Branch) -> AbstractAsyncContextManager[tuple[Work, Branch, Workspace | None]]:
        return _locked(self._workshop, branch)

    async def _save(self, work: Work, branch: Branch, state: Saga, reason: str = "") -> Branch:
        now = self._clock.now()
        moved = replace(branch, state=state, reason=reason or branch.reason, attempts=0, due_at=now + LEASE)
        await work.save_branch(moved)
        if state in (Saga.READY, Saga.FAILED):
            await work.fact(moved.tenant, told_of(moved), moved.asked_by, now)
        return moved


@asynccontextmanager
async def _locked(workshop: Workshop, branch: Branch) -> AsyncIterator[tuple[Work, Branch, Workspace | None]]:
    """A transaction with the workspace, then the record, as they are now."""
    async with workshop.work() as work:
        workspace = await work.find(branch.tenant, branch.session_id, family=True)
        now = await work.branch(branch.tenant, branch.session_id)
        yield work, now or replace(branch, state=Saga.FAILED), workspace


def is_passing(refusal: Refusal) -> bool:
    """Whether a refusal of streaming may be over in a moment; any other is for good."""
    if isinstance(refusal, Unavailable | Conflict | DeadlineExceeded | Denied | Unauthenticated):
        return True
    return refusal.reason == "TURN_RUNNING"
