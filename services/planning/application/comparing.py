"""Diff of two plans, and taking steps over from one to the other (P.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.kernel.clock import Clock
from services.kernel.errors import Invalid
from services.kernel.ids import NewId
from services.planning.application.acting import Command
from services.planning.application.plans import Planned, told_of_plan
from services.planning.application.ports import Reads
from services.planning.application.work import Live, Workshop
from services.planning.domain import limits
from services.planning.domain.facts import Told
from services.planning.domain.lineage import Change, diff, rearranged
from services.planning.domain.picking import pick
from services.planning.domain.workspace import (
    check_changeable,
    check_reorderable,
    check_version,
    with_objective,
    with_plan,
)


@dataclass(frozen=True, slots=True)
class Compared:
    """Two workspaces at one time, and what makes the other's plan out of this one."""

    this: Live
    other: Live
    changes: list[Change]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is taken over: steps by their lineage, the objective. `expected`, `source_expected`: versions of the plans
    that the caller knows, None for any."""

    source_id: str
    origin_ids: Sequence[str]
    objective: bool
    expected: int | None = None
    source_expected: int | None = None

    def check(self, session_id: str) -> None:
        """It is something, and of another session. Invalid."""
        if not self.origin_ids and not self.objective:
            raise Invalid("INVALID_ARGUMENT", "name steps, or ask for the objective", field="origin_ids")
        if self.source_id == session_id:
            raise Invalid("INVALID_ARGUMENT", "source must be another session", field="source")
        if self.origin_ids:
            limits.count("origin_ids", len(self.origin_ids), limits.STEPS_MOST)


class Comparing:
    """The use cases. Any two sessions of a tenant may be compared; lineage is shared by branches."""

    def __init__(self, workshop: Workshop, reads: Reads, clock: Clock, new_id: NewId) -> None:
        self._workshop = workshop
        self._reads = reads
        self._clock = clock
        self._new_id = new_id

    async def diff(self, tenant: str, session_id: str, other_id: str) -> Compared:
        """What the other one has that this one has not."""
        this, other = await self._reads.pair(tenant, session_id, other_id)
        return Compared(this, other, diff(this.steps, other.steps))

    async def pick(self, command: Command, wanted: Wanted) -> Planned:
        """Steps, and the objective, made as they are in the source; all or nothing."""
        wanted.check(command.session_id)
        async with self._workshop.work() as work:
            said = await command.remembered(work, "CherryPick")
            workspace = await work.workspace(command.tenant, command.session_id)
            before = await work.steps(workspace)
            if said is not None:
                return Planned(before, workspace.plan_version)
            check_changeable(workspace, command.by, command.turn_id)
            check_version(workspace, wanted.expected)
            source = await work.seen(command.tenant, wanted.source_id)
            check_version(source.workspace, wanted.source_expected)
            now, changed, after = self._clock.now(), workspace, before
            if wanted.origin_ids:
                after = pick(before, source.steps, wanted.origin_ids, self._new_id)
                if rearranged(before, after):
                    check_reorderable(workspace, command.by)
                changed = with_plan(changed, now)
                await work.write_steps(workspace, before, after)
                await work.fact(changed.tenant, told_of_plan(changed), command.who, now)
            if wanted.objective:
                changed = with_objective(changed, source.workspace.objective, command.by, now)
                told = Told("objective", changed.session_id, version=changed.plan_version)
                await work.fact(changed.tenant, told, command.who, now)
            await work.save(changed)
            await work.store(b"")
            return Planned(after, changed.plan_version)
