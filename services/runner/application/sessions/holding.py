"""Holds one session: starts its agent, brings commands to it in order and what it says up (design/streaming.md S.5).

Ends when the agent ends, when the owner says so, or at a good moment once this runner winds down.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Iterable
from typing import Any, Final, assert_never

from services.kernel import telemetry
from services.kernel.errors import Conflict, NotFound, Refusal, Unavailable
from services.runner.application.agents import Agent, AgentFault, Agents
from services.runner.application.backoff import delays
from services.runner.application.ports import LeasedJob
from services.runner.application.sessions.answering import told
from services.runner.application.sessions.attached import Attached
from services.runner.application.sessions.context import Contexts
from services.runner.application.sessions.leaving import OLD_SECONDS, Leaving
from services.runner.application.sessions.outbox import Outbox
from services.runner.application.sessions.ports import GateRefused, SessionOwner
from services.runner.application.work import Begin
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
    SessionOrder,
    Settled,
    Shutdown,
    Steer,
    TookBack,
)

_log = telemetry.get_logger("runner.session")
_FLUSH_SECONDS: Final = 15.0
"""How long what was said last is offered to an owner that cannot be reached."""


class Holding:
    """The work of one session job. Implements job_run.Doing."""

    def __init__(
        self,
        owner: SessionOwner,
        adapters: Iterable[Agents],
        contexts: Contexts | None = None,
        alive_every: float = 5.0,
        old_after: float = OLD_SECONDS,
    ) -> None:
        """Seconds: between words that the agent is there, and after which it is replaced at the next pause."""
        self._owner = owner
        self._contexts = contexts or Contexts()
        self._adapters = {adapter.name: adapter for adapter in adapters}
        self._alive_every = alive_every
        self._leaving = Leaving(old_after)

    def wind_down(self) -> None:
        """Ends as soon as no turn is under way."""
        self._leaving.for_good()

    @property
    def idle_seconds(self) -> float:
        """Since the last turn, or since the agent is there; 0 in a turn."""
        return self._leaving.idle_seconds

    def make_room(self) -> None:
        """Ends if no turn is under way."""
        self._leaving.once()

    async def do(self, job: LeasedJob, begin: Begin) -> bytes:
        """Holds the session to its end."""
        order = self._owner.order(job)
        adapter = self._adapters.get(order.adapter)
        if adapter is None:
            raise Failed(Code.START_FAILED, f"this runner has no adapter {order.adapter!r}")
        state = None if order.state is None else await self._state(job, order.state)
        attached = Attached(self._owner, job, outbox := Outbox(), self._alive_every)
        hold = _Hold(self._owner, job, attached, outbox, self._leaving, self._contexts)
        await hold.run(adapter, _task(order, state))
        return b"{}"

    async def _state(self, job: LeasedJob, digest: str) -> bytes:
        """Asked again while the owner is away; the lease bounds it."""
        for delay in delays():
            try:
                state = await self._owner.state(job, digest)
            except (Conflict, NotFound):
                raise
            except Refusal as refusal:
                _log.warning("session.state_not_read", session=job.about, reason=refusal.reason)
                await asyncio.sleep(delay)
                continue
            if hashlib.sha256(state).hexdigest() != digest:
                raise Failed(Code.START_FAILED, "the agent's state is damaged")
            return state
        raise Unavailable("STATE_NOT_READ", "the agent's state cannot be read")


class _Hold:
    """One agent's life."""

    def __init__(
        self,
        owner: SessionOwner,
        job: LeasedJob,
        attached: Attached,
        outbox: Outbox,
        leaving: Leaving,
        contexts: Contexts,
    ) -> None:
        self._owner = owner
        self._job = job
        self._outbox = outbox
        self._attached = attached
        self._leaving = leaving
        self._contexts = contexts
        self._prefix = f"{job.id.removeprefix('job_')}.{job.fence}."
        self._turn = ""
        self._running = False
        self._gates: dict[str, str] = {}
        """Open questions: the owner's name for each, by the agent's."""
        self._late: list[str] = []
        """What was said to a turn that had settled."""
        self._over = asyncio.Event()
        self._agent: Agent | None = None
        self._task: AgentTask | None = None

    async def run(self, adapter: Agents, task: AgentTask) -> None:
        """To the end. The agent is stopped in any case, before the job is reported."""
        self._task = task
        agent = self._agent = adapter.open(task, self._emit)
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
                asyncio.create_task(self._leaving.grow_old(), name="session.age"),
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
        assert self._task is not None
        words = "\n\n".join([*self._late, words])
        self._late.clear()
        await agent.prompt(words, await self._contexts.compose(self._task.session, turn, self._task.token), turn)

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


def _task(order: SessionOrder, state: bytes | None) -> AgentTask:
    return AgentTask(order.session, order.provider, order.model, order.thinking, state, order.token)
