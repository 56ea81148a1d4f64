"""Workspaces and turns, as streaming tells of them (P.1): made, begun with a snapshot, ended, deleted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from services.kernel.clock import Clock
from services.planning.application.work import Work, Workshop
from services.planning.domain import errors
from services.planning.domain.branch import Saga
from services.planning.domain.facts import Told
from services.planning.domain.restore import OPEN_END, Stretch
from services.planning.domain.workspace import Making, Workspace

SUPERSEDED = "superseded"
"""Outcome of a turn whose successor began before its end was heard of."""


class Turning:
    """The use cases; every one may be repeated."""

    def __init__(self, workshop: Workshop, clock: Clock) -> None:
        self._workshop = workshop
        self._clock = clock

    async def ensure(self, tenant: str, session_id: str) -> bool:
        """A workspace for the session; whether this call made it."""
        async with self._workshop.work() as work:
            _, created = await ensured(work, tenant, session_id, self._clock.now())
            return created

    async def begin(self, tenant: str, session_id: str, number: int, turn_id: str, actor: str) -> bool:
        """The turn and what the workspace is now, together; whether it had begun before."""
        async with self._workshop.work() as work:
            now = self._clock.now()
            workspace, _ = await ensured(work, tenant, session_id, now)
            if await _has_begun(work, workspace, number, turn_id):
                return True
            if workspace.making is Making.FORKING:
                raise errors.branch_forking()
            if workspace.running:
                await work.end_turn(tenant, session_id, workspace.turn, SUPERSEDED, now)
            # Streaming begins turns only of what it has been told is ready: what was opening is.
            begun = replace(workspace, making=Making.READY, turn=number, turn_id=turn_id, running=True, updated_at=now)
            await work.save(begun)
            await work.begin_turn(begun, await work.steps(begun), now)
            told = Told("turn", session_id, version=begun.plan_version, turn=number)
            await work.fact(tenant, told, actor, now)
            return False


async def ensured(work: Work, tenant: str, session_id: str, now: datetime) -> tuple[Workspace, bool]:
    """The workspace, locked, its family too; made where there is none and the session is not deleted."""
    found = await work.find(tenant, session_id, family=True)
    if found is not None:
        return found, False
    await work.reserve(tenant, session_id)
    if await work.is_deleted(tenant, session_id):
        raise errors.session_deleted(session_id)
    found = await work.find(tenant, session_id, family=True)
    if found is not None:
        return found, False
    made = Workspace(tenant, session_id, session_id, Making.READY, now, now)
    await work.insert(made, [Stretch(session_id, 0, OPEN_END)])
    return made, True


async def _has_begun(work: Work, workspace: Workspace, number: int, turn_id: str) -> bool:
    """False: it may begin. Numbers rise, and an id is one turn's."""
    there = await work.turn_of_id(workspace.tenant, turn_id)
    if there is not None:
        if (there.line, there.number) == (workspace.session_id, number):
            return True
        raise errors.turn_stale(workspace.turn)
    if number <= workspace.turn:
        raise errors.turn_stale(workspace.turn)
    if await work.is_ended(workspace.tenant, workspace.session_id, turn_id):
        raise errors.turn_ended()
    return False


async def end_turn(work: Work, tenant: str, session_id: str, turn_id: str, outcome: str, now: datetime) -> None:
    """Streaming says that the turn is over: plan tools of it are refused from now on."""
    workspace = await work.find(tenant, session_id)
    if workspace is None:
        await work.reserve(tenant, session_id)  # its first turn may be beginning right now
        workspace = await work.find(tenant, session_id)
    turn = await work.turn_of_id(tenant, turn_id)
    if turn is None or workspace is None:
        await work.note_ended(tenant, session_id, turn_id, now)
        return
    if turn.line != session_id:
        return
    await work.end_turn(tenant, session_id, turn.number, outcome, now)
    if workspace.running and workspace.turn_id == turn_id:
        await work.save(replace(workspace, running=False, updated_at=now))


async def delete(work: Work, tenant: str, session_id: str, actor: str, now: datetime) -> None:
    """The session is gone, and so is everything of its workspace; its branches stay."""
    await work.reserve(tenant, session_id)
    workspace = await work.find(tenant, session_id)
    if workspace is None:
        await work.note_deleted(tenant, session_id, now)
        return
    await work.delete(workspace, now)
    await work.fact(tenant, Told("deleted", session_id, version=workspace.plan_version), actor, now)
    branch = await work.branch(tenant, session_id)
    if branch is None:
        return
    if branch.state is Saga.READY:
        await work.drop_branch(tenant, session_id)
    elif branch.state is not Saga.FAILED:
        await work.save_branch(replace(branch, state=Saga.ABANDONING, reason="SESSION_DELETED", due_at=now))
