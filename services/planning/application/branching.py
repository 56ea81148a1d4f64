""" "Continue from here" (C6, P.3): everything of a branch that planning has, in one transaction, and the record by
which its saga is driven on (driving.py)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from services.kernel.clock import Clock
from services.kernel.ids import NewId
from services.planning.application.acting import Command
from services.planning.application.work import Restored, Work, Workshop
from services.planning.domain import errors, limits
from services.planning.domain.branch import LEASE, Branch, Saga
from services.planning.domain.facts import Told
from services.planning.domain.restore import fork
from services.planning.domain.snapshot import materialise
from services.planning.domain.workspace import USER, Making, Workspace


@dataclass(frozen=True, slots=True)
class Continued:
    """Where the conversation goes on: in a branch, or, without one, in the session itself."""

    session_id: str
    branch: Branch | None


class Branching:
    """The use case."""

    def __init__(self, workshop: Workshop, clock: Clock, new_id: NewId) -> None:
        self._workshop = workshop
        self._clock = clock
        self._new_id = new_id

    async def branch(self, command: Command, turn: int, force: bool, title: str) -> Continued:
        """A branch after the turn, `forking`; of the last turn only where it is forced. The origin is only read."""
        title = limits.title_text(title)
        async with self._workshop.work() as work:
            said = await command.remembered(work, "BranchSession")
            if said is not None:
                return await _again(work, command, said.decode())
            origin = await work.workspace(command.tenant, command.session_id, family=True)
            if origin.making is not Making.READY:
                raise errors.branch_forking()
            size = await work.family_size(origin)
            state = await work.branched(origin.tenant, origin.session_id, turn)
            if state.live and not force:
                await work.store(origin.session_id.encode())
                return Continued(origin.session_id, None)
            if size >= limits.BRANCHES_MOST:
                raise errors.too_many_branches()
            now = self._clock.now()
            made = Branch(
                tenant=origin.tenant,
                session_id=self._new_id("ses"),
                origin_id=origin.session_id,
                turn=turn,
                origin_turn_id=state.turn_id,
                state=Saga.FORKING,
                reason="",
                title=title,
                asked_by=command.who,
                attempts=0,
                due_at=now + LEASE,
                created_at=now,
            )
            await self._materialise(work, origin, state, made, now)
            await work.add_branch(made)
            await work.fact(made.tenant, told_of(made), made.asked_by, now)
            await work.store(made.session_id.encode())
            return Continued(made.session_id, made)

    async def _materialise(self, work: Work, origin: Workspace, state: Restored, branch: Branch, now: datetime) -> None:
        """The branch's own rows. Turns are not copied: up to the fork they never change again, and both stand on
        them (Stretch)."""
        snapshot = state.snapshot
        made = Workspace(
            tenant=origin.tenant,
            session_id=branch.session_id,
            family=origin.family,
            making=Making.FORKING,
            created_at=now,
            updated_at=now,
            objective=snapshot.objective,
            objective_version=1 if snapshot.objective else 0,
            objective_by=USER if snapshot.objective else "",
            objective_at=now if snapshot.objective else None,
            plan_version=1 if snapshot.steps else 0,
            turn=branch.turn,
            turn_id=state.turn_id,
            parent_id=origin.session_id,
            fork_turn=branch.turn,
        )
        await work.insert(made, fork(await work.stretches(origin), branch.turn, made.session_id))
        await work.write_steps(made, (), materialise(snapshot, self._new_id))
        await work.insert_documents(made, state.shelf, now)


def told_of(branch: Branch) -> Told:
    """The branch, on its origin's feed; on its own once the origin is gone."""
    shown = {Saga.READY: "ready", Saga.FAILED: "failed"}.get(branch.state, "forking")
    return Told(
        "branch",
        branch.origin_id or branch.session_id,
        turn=branch.turn,
        branch_session_id=branch.session_id,
        state=shown,
    )


async def _again(work: Work, command: Command, session_id: str) -> Continued:
    """What the same request made before, as it is now."""
    if session_id == command.session_id:
        return Continued(session_id, None)
    branch = await work.branch(command.tenant, session_id)
    if branch is None:
        raise errors.branch_not_found()
    return Continued(session_id, branch)
