"""Holds a session: finds its agent and the state to go on from, and begins its life (design/streaming.md S.5, S.7).

Ends when the agent ends, when the owner says so, or at a good moment once this runner winds down.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable

from services.kernel import telemetry
from services.kernel.errors import Conflict, NotFound, Refusal, Unavailable
from services.runner.application.agents import Agents
from services.runner.application.backoff import delays
from services.runner.application.ports import LeasedJob
from services.runner.application.sessions.attached import Attached
from services.runner.application.sessions.context import Contexts
from services.runner.application.sessions.hold import Hold
from services.runner.application.sessions.leaving import Leaving
from services.runner.application.sessions.outbox import Outbox
from services.runner.application.sessions.ports import SessionOwner
from services.runner.application.sessions.renewing import OLD_SECONDS
from services.runner.application.work import Begin
from services.runner.domain.agent import AgentTask
from services.runner.domain.failure import Code, Failed
from services.runner.domain.session import SessionOrder

_log = telemetry.get_logger("runner.session")


class Holding:
    """The work of one session job. Implements job_run.Doing."""

    def __init__(
        self,
        owner: SessionOwner,
        adapters: Iterable[Agents],
        contexts: Contexts | None = None,
        renewed_every: float = OLD_SECONDS,
        alive_every: float = 5.0,
    ) -> None:
        """Seconds: between an agent's tokens, and between words that it is there."""
        self._owner = owner
        self._contexts = contexts or Contexts()
        self._adapters = {adapter.name: adapter for adapter in adapters}
        self._alive_every = alive_every
        self._renewed_every = renewed_every
        self._leaving = Leaving()

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
        hold = Hold(self._owner, job, attached, outbox, self._leaving, self._contexts, self._renewed_every)
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


def _task(order: SessionOrder, state: bytes | None) -> AgentTask:
    return AgentTask(order.session, order.provider, order.model, order.thinking, state, order.token)
