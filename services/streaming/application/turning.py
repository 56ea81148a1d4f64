"""Prompt, steer, abort: what a person does to a turn (D1.1)."""

from __future__ import annotations

from services.kernel.clock import Clock
from services.kernel.principal import Principal
from services.streaming.application import beginning, story
from services.streaming.application.ports import SessionKey
from services.streaming.application.starting import Asked, Starting
from services.streaming.application.work import Settlement, Workshop
from services.streaming.domain import turns
from services.streaming.domain.session import Agent, Session


class Turning:
    """The use cases, inside the caller's tenant; all but prompt are one transaction."""

    def __init__(self, workshop: Workshop, starting: Starting, clock: Clock) -> None:
        self._workshop = workshop
        self._starting = starting
        self._clock = clock

    async def prompt(
        self, caller: Principal, session_id: str, text: str, request_id: str, digest: bytes
    ) -> tuple[Session, str]:
        """Begins a turn; answers the session and the turn's id. The same request answers the same turn."""
        check = beginning.check_ours
        return await self._starting.start(Asked(caller, "PromptSession", session_id, text, request_id, digest, check))

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
            session = await beginning.with_agent(work, session, now)
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


def who(caller: Principal) -> str:
    """The caller, as rows and facts name it."""
    return f"{caller.kind}:{caller.subject}"
