"""An agent's proposal as a thread of its session: at the gate from its first event, for a person to decide on
(design/gateway.md, MCP; design/planning.md P.3). Nothing here approves or runs anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from services.threads.application.catalogue import ActionRequest, Catalogue
from services.threads.application.commands import Answer, Call, Commands
from services.threads.application.ports import SchemaCheck, Store, Wake
from services.threads.domain import commands as c
from services.threads.domain.errors import TooManyProposals
from services.threads.domain.limits import OPEN_PROPOSALS_MAX
from services.threads.domain.states import State

M = TypeVar("M")


class Proposals:
    """One instance a process."""

    def __init__(self, store: Store, wake: Wake, commands: Commands, schemas: SchemaCheck) -> None:
        self._store = store
        self._wake = wake
        self._commands = commands
        self._schemas = schemas

    async def propose(self, call: Call, command: c.CreateThread, action: ActionRequest, answer: Answer[M]) -> M:
        """A new thread in `awaiting_confirmation`. Repeats of the request answer the same; TooManyProposals while as
        many of the session are open as may be.
        """
        async with self._store.work() as work:
            stored = await work.remember(call.key, call.digest)
            if stored is not None:
                return answer.load(stored)
            choice = await Catalogue(work, call.tenant, self._schemas).proposal(action)
            spawn = c.Spawn(State.AWAITING_CONFIRMATION, "proposed_in_session", choice)
            if await work.open_proposals(call.tenant, command.session_id) >= OPEN_PROPOSALS_MAX:
                raise TooManyProposals(OPEN_PROPOSALS_MAX)
            outcome, _ = await self._commands.decided(work, call, None, replace(command, spawn=spawn))
            made = answer.write(outcome)
            await work.store(call.key, answer.dump(made))
        await self._wake.committed(jobs=False)
        return made
