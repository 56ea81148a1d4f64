"""Turns of sessions with the adapter `external`: an outside agent begins and ends them (S.8). No runner has a part."""

from __future__ import annotations

from datetime import datetime

from services.kernel.clock import Clock
from services.kernel.errors import Invalid, NotAllowed, TooLarge
from services.kernel.ids import is_id
from services.kernel.principal import Principal
from services.streaming.application import story
from services.streaming.application.ports import SessionKey
from services.streaming.application.starting import Asked, Starting
from services.streaming.application.turning import who
from services.streaming.application.work import Settlement, Work, Workshop
from services.streaming.domain import agent_events
from services.streaming.domain.errors import not_external
from services.streaming.domain.session import Session
from services.streaming.domain.turns import UNDER_WAY, Outcome

FINAL_MOST = 900_000
_FAILED = "provider_error"
"""What a turn's code is whose outside agent says that it failed."""


class Driving:
    """The use cases, inside the caller's tenant."""

    def __init__(self, workshop: Workshop, starting: Starting, clock: Clock) -> None:
        self._workshop = workshop
        self._starting = starting
        self._clock = clock

    async def open(
        self, caller: Principal, session_id: str, text: str, request_id: str, digest: bytes
    ) -> tuple[Session, str]:
        """Begins a turn; answers the session and the turn's id. The same request answers the same turn."""
        return await self._starting.start(Asked(caller, "OpenTurn", session_id, text, request_id, digest, _check))

    async def close(
        self,
        caller: Principal,
        session_id: str,
        *,
        text: str,
        turn_id: str,
        outcome: str,
        request_id: str,
        digest: bytes,
    ) -> Session:
        """Ends the turn: its final text is told and kept, open gates are cancelled. The same request ends it once."""
        ended = _settlement(text, turn_id, outcome)
        async with self._workshop.work() as work:
            said = await work.remember(caller, "CloseTurn", request_id, digest)
            session = await work.lock(SessionKey(caller.tenant, session_id))
            _check(session)
            if said is not None:
                return session
            if session.state not in UNDER_WAY or turn_id not in ("", session.turn_id):
                message = "this turn is not under way" if turn_id else "no turn is under way"
                raise NotAllowed("TURN_NOT_RUNNING", message, state=session.state, turn=session.turn_id)
            session = await self._settle(work, session, ended, who(caller), self._clock.now())
            await work.store(session.turn_id.encode())
            return session

    async def _settle(self, work: Work, session: Session, ended: Settlement, by: str, now: datetime) -> Session:
        if ended.text:
            for line in agent_events.delta("text_delta", ended.text, 0).lines():
                await work.say_line(session, "text_delta", line)
        return await story.settle(work, session, ended, by, now)


def _check(session: Session) -> None:
    if not session.external:
        raise not_external(session.adapter)


def _settlement(text: str, turn_id: str, outcome: str) -> Settlement:
    try:
        how = Outcome(outcome or "ok")
    except ValueError:
        raise Invalid("INVALID_ARGUMENT", f"outcome must be one of {', '.join(Outcome)}", field="outcome") from None
    if turn_id and not is_id("trn", turn_id):
        raise Invalid("INVALID_ARGUMENT", "turn_id must be a turn's id", field="turn_id")
    if "\0" in text:
        raise Invalid("INVALID_ARGUMENT", "text must not contain NUL", field="text")
    if len(text.encode()) > FINAL_MOST:
        raise TooLarge("VALUE_TOO_LARGE", f"text must be at most {FINAL_MOST} bytes", field="text", limit=FINAL_MOST)
    return Settlement(how, _FAILED if how is Outcome.FAILED else "", text)
