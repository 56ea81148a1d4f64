"""The objective (C5): the last writer wins, but an agent does not overwrite what a person wrote during its turn."""

from __future__ import annotations

from dataclasses import dataclass

from services.kernel.clock import Clock
from services.planning.application.acting import Command
from services.planning.application.work import Workshop
from services.planning.domain import limits
from services.planning.domain.errors import etag_mismatch
from services.planning.domain.facts import Told
from services.planning.domain.workspace import NOTICE, Workspace, check_changeable, keeps_the_users, with_objective


@dataclass(frozen=True, slots=True)
class Set:
    """The workspace with its objective; `notice`: why nothing was stored."""

    workspace: Workspace
    notice: str = ""


_NOTICED = b"notice"


class Objectives:
    """The use case."""

    def __init__(self, workshop: Workshop, clock: Clock) -> None:
        self._workshop = workshop
        self._clock = clock

    async def set(self, command: Command, text: str, force: bool, etag: str) -> Set:
        """A blank text clears it."""
        line = limits.objective_text(text)
        async with self._workshop.work() as work:
            said = await command.remembered(work, "SetObjective")
            workspace = await work.workspace(command.tenant, command.session_id)
            if said is not None:
                return Set(workspace, NOTICE if said == _NOTICED else "")
            check_changeable(workspace, command.by, command.turn_id)
            if etag and not names_version(etag, workspace.objective_version):
                raise etag_mismatch(workspace.objective_version)
            if keeps_the_users(workspace, command.by, force):
                await work.store(_NOTICED)
                return Set(workspace, NOTICE)
            now = self._clock.now()
            changed = with_objective(workspace, line, command.by, now)
            await work.save(changed)
            told = Told("objective", changed.session_id, version=changed.plan_version)
            await work.fact(changed.tenant, told, command.who, now)
            await work.store(b"")
            return Set(changed)


def etag_of(version: int) -> str:
    """A version as an etag."""
    return f'"{version}"'


def names_version(etag: str, version: int) -> bool:
    """Whether the etag is that version's; `If-Match` comes without its quotes."""
    return etag.strip('"') == str(version)
