"""Commands on plans (C4, P.6): each is one transaction, decided on the plan as it is then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from services.kernel.clock import Clock
from services.kernel.errors import Invalid
from services.kernel.ids import NewId
from services.planning.application.acting import Command
from services.planning.application.work import Workshop
from services.planning.domain import plan
from services.planning.domain.facts import Told
from services.planning.domain.step import Steps
from services.planning.domain.workspace import (
    Workspace,
    check_changeable,
    check_reorderable,
    check_version,
    with_plan,
)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and its version."""

    steps: Steps
    version: int


class Plans:
    """The use cases. `expected`: the version that the caller knows, None for any."""

    def __init__(self, workshop: Workshop, clock: Clock, new_id: NewId) -> None:
        self._workshop = workshop
        self._clock = clock
        self._new_id = new_id

    async def add(
        self, command: Command, items: Sequence[str], parent_index: int | None, expected: int | None
    ) -> Planned:
        """Steps at the end, or under another one."""
        return await self._change(
            command, "AddTodos", expected, lambda steps: plan.add(steps, items, parent_index, self._new_id)
        )

    async def toggle(
        self, command: Command, indices: Sequence[int], done: bool | None, expected: int | None
    ) -> Planned:
        """Done or not."""
        return await self._change(command, "ToggleTodos", expected, lambda steps: plan.toggle(steps, indices, done))

    async def edit(self, command: Command, edits: Sequence[tuple[int, str]], expected: int | None) -> Planned:
        """Other texts."""
        return await self._change(command, "EditTodos", expected, lambda steps: plan.edit(steps, edits))

    async def remove(self, command: Command, indices: Sequence[int], expected: int | None) -> Planned:
        """Whole subtrees."""
        return await self._change(command, "RemoveTodos", expected, lambda steps: plan.remove(steps, indices))

    async def move(
        self, command: Command, index: int, after: int | None, parent: int | None, expected: int | None
    ) -> Planned:
        """A subtree."""
        if (after is None) == (parent is None):
            raise Invalid("INVALID_ARGUMENT", "give either after_index or parent_index", field="after_index")

        def moved(steps: Steps) -> Steps:
            if parent is not None:
                return plan.move_under(steps, index, parent)
            assert after is not None, "one of the two is given"
            return plan.move_after(steps, index, after)

        return await self._change(command, "MoveSteps", expected, moved, reorders=True)

    async def reorder(self, command: Command, step_ids: Sequence[str], expected: int | None) -> Planned:
        """The flat drag."""
        return await self._change(
            command, "ReorderSteps", expected, lambda steps: plan.reorder(steps, step_ids), reorders=True
        )

    async def _change(
        self,
        command: Command,
        method: str,
        expected: int | None,
        decide: Callable[[Steps], Steps],
        *,
        reorders: bool = False,
    ) -> Planned:
        """A repeat answers the plan as it is now: its indices are those that hold."""
        async with self._workshop.work() as work:
            said = await command.remembered(work, method)
            workspace = await work.workspace(command.tenant, command.session_id)
            before = await work.steps(workspace)
            if said is not None:
                return Planned(before, workspace.plan_version)
            check_changeable(workspace, command.by, command.turn_id)
            if reorders:
                check_reorderable(workspace, command.by)
            check_version(workspace, expected)
            after = decide(before)
            now = self._clock.now()
            changed = with_plan(workspace, now)
            await work.write_steps(workspace, before, after)
            await work.save(changed)
            await work.fact(changed.tenant, told_of_plan(changed), command.who, now)
            await work.store(b"")
            return Planned(after, changed.plan_version)


def told_of_plan(workspace: Workspace) -> Told:
    """The plan has changed."""
    return Told("plan", workspace.session_id, version=workspace.plan_version)
