"""What agents are told of objective and plan, and were told (C.6): composed once a turn, kept with it, and the same
bytes for whoever asks again. Failing is the caller's affair: the turn goes on without."""

from __future__ import annotations

from dataclasses import replace

from services.kernel.clock import Clock
from services.kernel.errors import Invalid
from services.kernel.principal import Principal
from services.planning.application.acting import is_agent
from services.planning.application.ports import Reads
from services.planning.application.work import Workshop
from services.planning.domain import errors
from services.planning.domain.context import Context, context_of


class Telling:
    """The use cases."""

    def __init__(self, workshop: Workshop, reads: Reads, clock: Clock) -> None:
        self._workshop = workshop
        self._reads = reads
        self._clock = clock

    async def compose(self, caller: Principal, session_id: str, turn_id: str) -> Context:
        """For the agent, kept with the turn under way (empty: whichever that is); to people it is only shown."""
        if is_agent(caller):
            return await self._tell(caller.tenant, session_id, turn_id)
        live = await self._reads.live(caller.tenant, session_id)
        if turn_id and not (live.workspace.running and live.workspace.turn_id == turn_id):
            raise errors.turn_ended()
        return context_of(live.workspace, live.steps)

    async def _tell(self, tenant: str, session_id: str, turn_id: str) -> Context:
        async with self._workshop.work() as work:
            workspace = await work.workspace(tenant, session_id, family=True)
            told = await work.told(workspace, turn_id or workspace.turn_id)
            if told is not None and (turn_id or workspace.running):
                return told
            if not workspace.running or turn_id not in ("", workspace.turn_id):
                raise errors.turn_ended()
            made = context_of(workspace, await work.steps(workspace), workspace.turn, workspace.turn_id)
            if made.text:
                made = replace(made, told_at=self._clock.now())
                await work.tell(workspace, made)
            return made

    async def told(self, tenant: str, session_id: str, turn: int, turn_id: str) -> Context:
        """What was told in the turn, by number or id; 0 and empty: the newest in which anything was."""
        if turn and turn_id:
            raise Invalid("INVALID_ARGUMENT", "give turn or turn_id, not both", field="turn_id")
        if turn < 0:
            raise Invalid("INVALID_ARGUMENT", "turn must be 1 or more", field="turn")
        told = await self._reads.told(tenant, session_id, turn, turn_id)
        if told is None:
            raise errors.plan_context_not_found()
        return told
