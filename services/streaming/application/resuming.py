"""Resume and delete: the ways out of a session's runtime (D1.4, D1.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.kernel.clock import Clock
from services.kernel.errors import Invalid, NotFound, Refusal
from services.kernel.ids import is_id
from services.kernel.principal import Principal
from services.kernel.telemetry import get_logger
from services.streaming.application import beginning, story
from services.streaming.application.appenders import Appenders
from services.streaming.application.ports import SessionKey, SessionStore
from services.streaming.application.turning import who
from services.streaming.application.work import Work, Workshop
from services.streaming.domain.errors import session_forking
from services.streaming.domain.offers import check_offers
from services.streaming.domain.session import Agent, Session, TurnState
from services.streaming.domain.turns import UNDER_WAY, Outcome

IDS_MOST = 200
RESUMED = "The session was resumed."
_log = get_logger("streaming.resuming")


@dataclass(frozen=True, slots=True)
class Deleted:
    """What became of one id of a batch."""

    id: str
    ok: bool
    code: str


class Resuming:
    """The use cases."""

    def __init__(self, workshop: Workshop, store: SessionStore, appenders: Appenders, clock: Clock) -> None:
        self._workshop = workshop
        self._store = store
        self._appenders = appenders
        self._clock = clock

    async def resume(self, caller: Principal, session_id: str, request_id: str, digest: bytes) -> tuple[Session, bool]:
        """(session, preserved). Validated first: a refusal touches nothing. Of several at once one starts an agent, and
        the others answer with it."""
        key, asked_at = SessionKey(caller.tenant, session_id), self._clock.now()
        async with self._workshop.work() as work:
            said = await work.remember(caller, "ResumeSession", request_id, digest)
            session = await work.lock(key)
            if said is not None:
                return session, said == b"preserved"
            beginning.check_ours(session)
            if session.forking:
                raise session_forking()
            if session.state in UNDER_WAY:
                await work.store(b"preserved")
                return session, True
            check_offers(session, await work.offers())
            resumed_at = await work.resumed_at(key)
            if session.agent is not Agent.STARTING and (resumed_at is None or resumed_at < asked_at):
                await self._cold(work, session, who(caller))
            await work.store(b"cold")
        try:
            await self._appenders.flush(key)  # the answer names the new generation
        except Refusal as refusal:
            _log.warning("session.stream_waits", session=session.id, reason=refusal.reason)
        return await self._store.get(key), False

    async def delete(self, caller: Principal, ids: Sequence[str], request_id: str, digest: bytes) -> list[Deleted]:
        """Each id for itself, whatever becomes of the others."""
        if not 0 < len(ids) <= IDS_MOST:
            raise Invalid("INVALID_ARGUMENT", f"ids must be 1..{IDS_MOST}", field="ids")
        return [await self._delete(caller, one, request_id, digest) for one in dict.fromkeys(ids)]

    async def _delete(self, caller: Principal, session_id: str, request_id: str, digest: bytes) -> Deleted:
        if not is_id("ses", session_id):
            return Deleted(session_id, False, "invalid_id")
        key, by = SessionKey(caller.tenant, session_id), who(caller)
        try:
            async with self._workshop.work() as work:
                # A key of its own for each id: what a repeat finds deleted by itself was deleted by it.
                single = f"{request_id}:{session_id}" if request_id and len(request_id) <= 80 else ""
                if await work.remember(caller, "BatchDeleteSessions", single, digest) is not None:
                    return Deleted(session_id, True, "deleted")
                session = await work.lock(key)
                now = self._clock.now()
                await work.cancel_job(session, "deleted")
                await work.drop_commands(session)
                await work.say(session, "deleted", {})
                if session.state in UNDER_WAY:
                    # Nobody reads the stream any more; who follows turns by facts is told how this one ended.
                    over = replace(session, state=TurnState.IDLE, outcome=Outcome.ABORTED, code="")
                    await work.fact(over, "turn", by, now, before=session.state)
                await work.fact(session, "deleted", by, now, before=session.state)
                await work.tombstone(key, now)
                await work.store(b"deleted")
        except NotFound:
            return Deleted(session_id, False, "not_found")
        except Refusal as refusal:
            _log.warning("session.not_deleted", session=session_id, reason=refusal.reason)
            return Deleted(session_id, False, "unavailable")
        return Deleted(session_id, True, "deleted")

    async def _cold(self, work: Work, session: Session, by: str) -> None:
        """Whatever agent is there is fenced off; a new one is wanted, with the kept provider, model and thinking."""
        now = self._clock.now()
        await work.cancel_job(session, "resumed")
        await work.drop_commands(session)
        session = await story.start_agent(work, session, now)
        body = {"state": session.state, "turn_id": session.turn_id, "outcome": session.outcome, "code": session.code}
        await work.say(session, "status", {"code": "resumed", "text": RESUMED})
        await work.say(session, "turn", {name: value for name, value in body.items() if value})
        await work.fact(session, "resumed", by, now, before=session.state)
        await work.note_resume(SessionKey(session.tenant, session.id), self._clock.now())
