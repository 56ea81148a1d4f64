"""How a turn comes to run (design/planning.md P.1): T1 takes the session's next number; planning keeps what the
workspace is now under that number; T2 lets the agent see the words. Never a turn without a snapshot.

Where planning is not configured, one transaction does it all. Whatever is lost in between, the same request goes on
where it was, and a start that nobody goes on with is over when its time is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from services.kernel.clock import Clock
from services.kernel.errors import Refusal, Unavailable
from services.kernel.ids import NewId
from services.kernel.principal import Principal
from services.kernel.telemetry import get_logger
from services.streaming.application import beginning
from services.streaming.application.plan_ports import Behind, Plans, Starts
from services.streaming.application.ports import SessionKey
from services.streaming.application.story import SYSTEM
from services.streaming.application.work import Turn, Work, Workshop
from services.streaming.domain.errors import planning_unavailable
from services.streaming.domain.session import Session

_SWEEP_SECONDS = 0.5
_SWEEP_MOST = 100
_log = get_logger("streaming.starting")


@dataclass(frozen=True, slots=True)
class Asked:
    """A caller's wish for a turn. `check` refuses sessions that `method` is not for."""

    caller: Principal
    method: str
    session_id: str
    text: str
    request_id: str
    digest: bytes
    check: Callable[[Session], None]

    @property
    def key(self) -> SessionKey:
        """The session."""
        return SessionKey(self.caller.tenant, self.session_id)

    @property
    def by(self) -> str:
        """The caller, as rows and facts name it."""
        return f"{self.caller.kind}:{self.caller.subject}"


class Starting:
    """`seconds`: how long a start may take before it is given up for whoever began it."""

    def __init__(
        self, workshop: Workshop, rows: Starts, plans: Plans | None, clock: Clock, new_id: NewId, seconds: float
    ) -> None:
        self._workshop = workshop
        self._rows = rows
        self._plans = plans
        self._clock = clock
        self._new_id = new_id
        self._seconds = seconds

    async def start(self, asked: Asked) -> tuple[Session, str]:
        """The session with its turn under way, and the turn's id. NotAllowed TURN_RUNNING for all but one of several;
        Unavailable PLANNING_UNAVAILABLE: the turn has failed (`start_failed`), and the same request may try again."""
        beginning.check_text(asked.text)
        session, turn_id = await self._first(asked)
        if session.starting != turn_id:
            return session, turn_id
        try:
            if self._plans is not None:
                await self._plans.begin(asked.key, session.turn_number, turn_id, asked.by)
        except Refusal as refusal:
            running = await self._give_up(asked, turn_id, refusal)
            if running is not None:
                return running, turn_id
            if isinstance(refusal, Behind):
                raise planning_unavailable() from refusal
            raise
        return await self._second(asked, turn_id), turn_id

    async def sweep(self) -> None:
        """Twice a second: starts whose time is over have failed. Runs until cancelled."""
        while True:
            try:
                for key, turn_id in await self._rows.stale(_SWEEP_MOST):
                    await self._end_stale(key, turn_id)
            except Unavailable as refusal:
                _log.warning("starts.wait", reason=refusal.reason)
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _end_stale(self, key: SessionKey, turn_id: str) -> None:
        """One session's trouble is not the others' (PUB07): again in a moment."""
        try:
            async with self._workshop.work() as work:
                await self._fail(work, await work.lock(key), turn_id, SYSTEM, stale=True)
        except Refusal as refusal:
            _log.warning("start.waits", session=key.session, reason=refusal.reason)
        except Exception:
            _log.exception("start.not_ended", session=key.session)

    async def _first(self, asked: Asked) -> tuple[Session, str]:
        """T1. A session that is `starting` with the turn, or that has it already."""
        async with self._workshop.work() as work:
            said = await work.remember(asked.caller, asked.method, asked.request_id, asked.digest)
            session = await work.lock(asked.key)
            known = None if said is None else await work.find_turn(session, said.decode())
            if known is not None and known.begun:
                return session, known.id
            if known is not None and known.id == session.starting:
                return replace(session, turn_number=known.number), known.id
            # New, or a repeat of what failed before its agent heard of it: as if it had never been asked.
            asked.check(session)
            beginning.check_free(session)
            turn_id, now = self._new_id("trn"), self._clock.now()
            if self._plans is None:
                session = await beginning.begin(work, session, turn_id, asked.text, asked.by, now)
            else:
                session = replace(session, starting=turn_id, turn_number=session.turn_number + 1)
                await work.save(session, now)
                await work.reserve_turn(session, asked.text, asked.by, now, self._seconds)
            await work.store(turn_id.encode())
            return session, turn_id

    async def _second(self, asked: Asked, turn_id: str) -> Session:
        """T2, for whoever is first of those that repeat the request."""
        async with self._workshop.work() as work:
            session = await work.lock(asked.key)
            turn = await work.find_turn(session, turn_id)
            if turn is None or session.starting != turn_id:
                return _begun(session, turn)
            session = replace(session, starting="")
            return await beginning.begin_reserved(work, session, turn, asked.by, self._clock.now())

    async def _give_up(self, asked: Asked, turn_id: str, refusal: Refusal) -> Session | None:
        """The start has failed, unless another call with the same request was luckier: then the session."""
        _log.warning("turn.not_started", session=asked.session_id, turn=turn_id, reason=refusal.reason)
        last = refusal.last if isinstance(refusal, Behind) else 0
        try:
            async with self._workshop.work() as work:
                session = await work.lock(asked.key)
                turn = await work.find_turn(session, turn_id)
                if turn is not None and turn.begun:
                    return session
                await self._fail(work, session, turn_id, asked.by, last=last)
        except Refusal as other:  # the sweep's, then
            _log.warning("turn.start_is_left", session=asked.session_id, reason=other.reason)
        return None

    async def _fail(
        self, work: Work, session: Session, turn_id: str, by: str, *, last: int = 0, stale: bool = False
    ) -> None:
        now = self._clock.now()
        if session.starting != turn_id or not await work.end_start(session, now, stale=stale):
            return
        await beginning.not_started(work, replace(session, turn_number=max(session.turn_number, last)), by, now)


def _begun(session: Session, turn: Turn | None) -> Session:
    if turn is None or not turn.begun:
        raise Unavailable("PLANNING_UNAVAILABLE", "the start of the turn took too long: try again")
    return session
