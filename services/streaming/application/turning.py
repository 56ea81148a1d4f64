"""Prompt, steer, abort: what a person does to a turn (D1.1)."""

from __future__ import annotations

from dataclasses import replace

from services.kernel.clock import Clock
from services.kernel.ids import NewId
from services.kernel.principal import Principal
from services.streaming.application import beginning, story
from services.streaming.application.ports import SessionKey
from services.streaming.application.work import Settlement, Work, Workshop
from services.streaming.domain import turns
from services.streaming.domain.session import Agent, Session

_UNCLAIMED = 1e9
"""Seconds; here a job that nobody claimed yet is as good as a live one."""


class Turning:
    """The use cases; every one is one transaction inside the caller's tenant."""

    def __init__(self, workshop: Workshop, clock: Clock, new_id: NewId) -> None:
        self._workshop = workshop
        self._clock = clock
        self._new_id = new_id

    async def prompt(
        self, caller: Principal, session_id: str, text: str, request_id: str, digest: bytes
    ) -> tuple[Session, str]:
        """Begins a turn; answers the session and the turn's id. The same request answers the same turn."""
        beginning.check_text(text)
        async with self._workshop.work() as work:
            said = await work.remember(caller, "PromptSession", request_id, digest)
            session = await work.lock(SessionKey(caller.tenant, session_id))
            if said is not None:
                return session, said.decode()
            beginning.check_ours(session)
            beginning.check_free(session)
            await work.drop_commands(session)
            session = await self._with_agent(work, session)
            begun = await beginning.begin(work, session, self._new_id("trn"), text, who(caller), self._clock.now())
            await work.store(begun.turn_id.encode())
            return begun, begun.turn_id

    async def steer(self, caller: Principal, session_id: str, text: str, request_id: str, digest: bytes) -> Session:
        """Cancels the open gates (an agent that waits in one does not listen), then tells the agent."""
        beginning.check_text(text)
        async with self._workshop.work() as work:
            said = await work.remember(caller, "SteerSession", request_id, digest)
            session = await work.lock(SessionKey(caller.tenant, session_id))
            if said is not None:
                return session
            beginning.check_ours(session)
            by, now = who(caller), self._clock.now()
            to = turns.after(session.state, turns.Steer())
            await story.cancel_gates(work, session, by, now)
            session = await self._with_agent(work, session)
            await work.command(session, "steer", {"text": text}, now)
            await work.say(session, "prompt", {"text": text})
            session = await story.move(work, session, to, by, now)
            await work.store(session.id.encode())
            return session

    async def abort(self, caller: Principal, session_id: str, request_id: str, digest: bytes) -> Session:
        """Cancels the open gates, then tells the agent; without one, the turn is over at once."""
        async with self._workshop.work() as work:
            said = await work.remember(caller, "AbortSession", request_id, digest)
            session = await work.lock(SessionKey(caller.tenant, session_id))
            if said is not None:
                return session
            by, now = who(caller), self._clock.now()
            to = turns.after(session.state, turns.Abort())
            turn = await work.turn(session)
            await story.cancel_gates(work, session, by, now)
            if session.agent is Agent.NONE:
                session = await story.settle(work, session, Settlement(turns.Outcome.ABORTED), by, now)
            elif not turn.abort_requested:
                await work.request_abort(session)
                await work.command(session, "abort", {}, now)
            if session.state in turns.UNDER_WAY:
                session = await story.move(work, session, to, by, now)
            await work.store(session.id.encode())
            return session

    async def _with_agent(self, work: Work, session: Session) -> Session:
        """The session with an agent that is there or wanted. One whose lease has run out is not there."""
        now = self._clock.now()
        if session.agent is not Agent.NONE and await work.job_over(session.job_id, _UNCLAIMED):
            await work.end_job(session.job_id, "failed", "runner_lost")
            session = replace(session, agent=Agent.NONE, job_id="")
        if session.agent is Agent.NONE:
            session = await story.start_agent(work, session, now)
        return session


def who(caller: Principal) -> str:
    """The caller, as rows and facts name it."""
    return f"{caller.kind}:{caller.subject}"
