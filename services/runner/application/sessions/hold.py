"""One agent's life in a session: commands come to it in order, and what it says goes up (design/streaming.md S.5)."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import Any, Final, assert_never

from services.kernel import telemetry
from services.runner.application.agents import Agent, AgentFault, Agents
from services.runner.application.ports import LeasedJob
from services.runner.application.sessions.answering import told
from services.runner.application.sessions.attached import Attached
from services.runner.application.sessions.context import Contexts
from services.runner.application.sessions.leaving import Leaving
from services.runner.application.sessions.outbox import Outbox
from services.runner.application.sessions.ports import GateRefused, SessionOwner
from services.runner.application.sessions.renewing import keep_renewed
from services.runner.domain.agent import (
    STATE_BYTES,
    AgentEvent,
    AgentGone,
    AgentTask,
    GateClosed,
    GateEnd,
    GateOpened,
    GateReply,
    GateState,
    TurnFailure,
    TurnSettled,
)
from services.runner.domain.failure import Code, Failed
from services.runner.domain.session import (
    Abort,
    AskedPerson,
    BeginTurn,
    Command,
    GateClosedBy,
    Order,
    Settled,
    Shutdown,
    Steer,
    TookBack,
)

_log = telemetry.get_logger("runner.session")
_FLUSH_SECONDS: Final = 15.0
"""How long what was said last is offered to an owner that cannot be reached."""


class Hold:
    """One agent's life."""

    def __init__(
        self,
        owner: SessionOwner,
        job: LeasedJob,
        attached: Attached,
        outbox: Outbox,
        leaving: Leaving,
        contexts: Contexts,
        renewed_every: float,
    ) -> None:
        self._owner = owner
        self._job = job
        self._outbox = outbox
        self._attached = attached
        self._leaving = leaving
        self._contexts = contexts
        self._renewed_every = renewed_every
        self._prefix = f"{job.id.removeprefix('job_')}.{job.fence}."
        self._turn = ""
        self._running = False
        self._gates: dict[str, str] = {}
        """Open questions: the owner's name for each, by the agent's."""
        self._late: list[str] = []
        """What was said to a turn that had settled."""
        self._over = asyncio.Event()
        self._agent: Agent | None = None
        self._token = ""

    async def run(self, adapter: Agents, task: AgentTask) -> None:
        """To the end. The agent is stopped in any case, before the job is reported."""
        self._token = task.token
        agent = self._agent = adapter.open(task, self._emit)
        self._attached.counts(lambda: (self._turn if self._running else "", agent.usage))
        try:
            try:
                await agent.start()
            except AgentFault as fault:
                raise Failed(Code.START_FAILED, str(fault)) from fault
            self._leaving.idle()
            attaching = asyncio.create_task(self._attached.run(), name="session.attach")
            duties = [
                attaching,
                asyncio.create_task(self._obey(agent), name="session.commands"),
                asyncio.create_task(self._over.wait(), name="session.over"),
                asyncio.create_task(self._leaving.when_idle(self._leave), name="session.leave"),
                asyncio.create_task(self._keep_renewed(agent), name="session.token"),
            ]
            try:
                done, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
                for duty in done:
                    duty.result()
                await self._flush(attaching)
            finally:
                for duty in duties:
                    duty.cancel()
                await asyncio.gather(*duties, return_exceptions=True)
        finally:
            await agent.stop()

    async def _flush(self, attaching: asyncio.Task[None]) -> None:
        """What was said must arrive before the job ends: its end would fail the turn."""
        settled = asyncio.create_task(self._attached.settled())
        try:
            waits: set[asyncio.Future[Any]] = {settled, attaching}
            await asyncio.wait(waits, timeout=_FLUSH_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if attaching.done():
                attaching.result()
        finally:
            settled.cancel()
            await asyncio.gather(settled, return_exceptions=True)

    async def _keep_renewed(self, agent: Agent) -> None:
        async def take(token: str) -> None:
            self._token = token
            await agent.renew(token)

        ask = partial(self._owner.token, self._job)
        await keep_renewed(ask, take, self._leaving.once, self._renewed_every)

    async def _leave(self) -> None:
        """The owner has everything, and agrees: what comes now is for another agent."""
        await self._attached.settled()
        await self._owner.leave(self._job)

    async def _obey(self, agent: Agent) -> None:
        """Commands in order, each acknowledged once the agent has taken it. Ends with a shutdown."""
        while True:
            heard = await self._attached.heard.get()
            match heard:
                case GateRefused(request, message):
                    if (key := self._close(request)) is not None:
                        await agent.answer_gate(key, GateReply(GateState.REFUSED, text=message))
                case Command(sequence, order):
                    await self._carry_out(agent, order)
                    self._attached.took(sequence)
                    if isinstance(order, Shutdown):
                        return

    async def _carry_out(self, agent: Agent, order: Order) -> None:
        match order:
            case BeginTurn(turn, text):
                await self._prompt(agent, turn, text)
            case Steer(turn, text):
                await self._steer(agent, turn, text)
            case Abort(turn):
                if self._running and turn in ("", self._turn):
                    await agent.abort()
            case GateClosedBy():
                await self._answer(agent, order)
            case Shutdown():
                pass
            case _:
                assert_never(order)

    async def _steer(self, agent: Agent, turn: str, words: str) -> None:
        """A turn that this agent has not seen begins with the words. Those that come for one that has just settled are
        said with the next prompt: the turn takes nothing any more, and another is not theirs to begin."""
        if not self._running and turn not in ("", self._turn):
            await self._prompt(agent, turn, words)
        elif not await agent.steer(words):
            self._late.append(words)

    async def _answer(self, agent: Agent, order: GateClosedBy) -> None:
        """An answer for an agent that is gone is the next input of this one (S.6)."""
        key = self._close(order.request)
        if key is not None:
            await agent.answer_gate(key, order.reply)
        elif order.reply.state is GateState.ANSWERED and not order.request.startswith(self._prefix):
            await self._steer(agent, order.turn, told(order))

    async def _prompt(self, agent: Agent, turn: str, words: str) -> None:
        """What the agent is to know besides is asked for each time (C.6)."""
        self._begin(turn)
        session = self._job.about.removeprefix("sessions/")
        words = "\n\n".join([*self._late, words])
        self._late.clear()
        await agent.prompt(words, await self._contexts.compose(session, turn, self._token), turn)

    def _begin(self, turn: str) -> None:
        self._turn, self._running = turn, True
        self._leaving.busy()

    def _close(self, request: str) -> str | None:
        """The agent's name of an open question, which is open no more."""
        for key, its_request in self._gates.items():
            if its_request == request:
                del self._gates[key]
                return key
        return None

    async def _emit(self, event: AgentEvent) -> None:
        """What the agent says, numbered and with the names that the owner knows."""
        match event:
            case GateOpened(key, kind, proposal, timeout):
                request = self._gates[key] = f"{self._prefix}{key}"[:128]
                await self._outbox.put(AskedPerson(request, kind, proposal, timeout))
            case GateClosed(key, end):
                if key in self._gates:
                    await self._outbox.put(TookBack(self._gates.pop(key), expired=end is GateEnd.EXPIRED))
            case TurnSettled():
                await self._settle(event)
            case AgentGone():
                self._attached.gone(TurnFailure.CHILD_EXIT if self._running else "")
                self._over.set()
            case _:
                await self._outbox.put(event)

    async def _settle(self, event: TurnSettled) -> None:
        """The state is taken before the end is told: no new turn has begun then."""
        turn, self._running = self._turn, False
        self._gates.clear()
        state = await self._state()
        await self._outbox.put(Settled(turn, event.end, event.text, event.usage))
        if state is not None:
            self._attached.keep(turn, state)
        self._leaving.idle()

    async def _state(self) -> bytes | None:
        assert self._agent is not None
        with contextlib.suppress(OSError):
            state = await self._agent.state()
            if state is not None and len(state) <= STATE_BYTES:
                return state
            if state is not None:
                _log.warning("session.state_too_large", session=self._job.about, bytes=len(state))
        return None
