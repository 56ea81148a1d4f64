"""A branch's session, made out of another one; planning drives it and says when it is done (design/planning.md P.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from services.kernel.clock import Clock
from services.kernel.errors import Invalid, NotFound, Refusal
from services.kernel.ids import is_id
from services.kernel.principal import Principal
from services.kernel.telemetry import get_logger
from services.streaming.application.appenders import Appenders
from services.streaming.application.ports import SessionKey, SessionStore
from services.streaming.application.turning import who
from services.streaming.application.work import Workshop
from services.streaming.domain.errors import not_forking
from services.streaming.domain.session import Session, check_title

_log = get_logger("streaming.forking")


@dataclass(frozen=True, slots=True)
class Fork:
    """What is asked for: a session `session_id` with the origin's turns 1..`turn`."""

    origin: SessionKey
    turn: int
    session_id: str
    title: str
    by: str

    @property
    def key(self) -> SessionKey:
        """The branch."""
        return SessionKey(self.origin.tenant, self.session_id)


class Forks(Protocol):
    """Rows of branches, which share their origin's."""

    async def fork(self, asked: Fork, now: datetime) -> Session:
        """The branch's session, made in one transaction; one that this fork made before is answered as it is."""
        ...

    async def bury(self, key: SessionKey, now: datetime) -> None:
        """A session that is not there cannot be made any more: a fork that comes late finds it deleted."""
        ...


class Forking:
    """The use cases; each is idempotent by the branch's session id."""

    def __init__(
        self, forks: Forks, workshop: Workshop, store: SessionStore, appenders: Appenders, clock: Clock
    ) -> None:
        self._forks = forks
        self._workshop = workshop
        self._store = store
        self._appenders = appenders
        self._clock = clock

    async def fork(self, caller: Principal, origin_id: str, turn: int, session_id: str, title: str, by: str) -> Session:
        """The branch's session, which takes no turns yet."""
        if not is_id("ses", session_id):
            raise Invalid("INVALID_ARGUMENT", "session_id must be ses_ and a UUIDv7 in hex", field="session_id")
        if session_id == origin_id:
            raise Invalid("INVALID_ARGUMENT", "session_id must not be the origin's", field="session_id")
        if turn < 0:
            raise Invalid("INVALID_ARGUMENT", "turn must not be negative", field="turn")
        check_title(title)
        asked = Fork(SessionKey(caller.tenant, origin_id), turn, session_id, title, by or who(caller))
        await self._forks.fork(asked, self._clock.now())
        try:
            await self._appenders.flush(asked.key)
        except Refusal as refusal:  # the sweep opens the stream when the log answers again
            _log.warning("session.stream_waits", session=session_id, reason=refusal.reason)
        return await self._store.get(asked.key)

    async def finish(self, caller: Principal, session_id: str) -> Session:
        """It takes turns from now on."""
        async with self._workshop.work() as work:
            session = await work.lock(SessionKey(caller.tenant, session_id))
            if not session.forked_from:
                raise not_forking()
            if session.forking:
                session = replace(session, forking=False)
                await work.save(session, self._clock.now())
            return session

    async def abandon(self, caller: Principal, session_id: str) -> bool:
        """It is deleted; False: there was none."""
        key, now = SessionKey(caller.tenant, session_id), self._clock.now()
        try:
            async with self._workshop.work() as work:
                session = await work.lock(key)
                if not session.forking:
                    raise not_forking()
                await work.say(session, "deleted", {})
                await work.fact(session, "deleted", who(caller), now, before=session.state)
                await work.tombstone(key, now)
            return True
        except NotFound:
            await self._forks.bury(key, now)
            return False
