"""Work on a session in one Postgres transaction; afterwards, whoever waits for what it wrote is woken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Float, bindparam, case, func, select, update

from services.kernel import frames, jobs
from services.kernel.keyed_work import KeyedWork
from services.kernel.postgres import Database, Tx, compiled
from services.streaming.adapters import command_rows, gate_rows, turn_rows
from services.streaming.adapters.postgres import SHOWN, fact, say_line, session_of
from services.streaming.adapters.tables import SESSIONS
from services.streaming.adapters.turn_tables import JOBS, RUNNERS
from services.streaming.adapters.wake import Wake
from services.streaming.application.ports import SessionKey
from services.streaming.application.work import Settlement, Turn
from services.streaming.domain.errors import session_not_found
from services.streaming.domain.gates import Gate, GateState
from services.streaming.domain.log import GENERATION
from services.streaming.domain.offers import Offer
from services.streaming.domain.session import Session

_s, _j, _r = SESSIONS.c, JOBS.c, RUNNERS.c
_MINE = (_s.tenant == bindparam("of_tenant")) & (_s.id == bindparam("of_id"))
_CHANGED = (
    *("state", "agent", "started", "job_id", "turn_id", "turn_number", "starting"),
    *("outcome", "code", "agent_state", "forking"),
)

_LOCK = compiled(select(*SHOWN).where(_MINE, _s.deleted_at.is_(None)).with_for_update())
_SAVE = compiled(
    update(SESSIONS)
    .where(_MINE)
    .values({**{name: bindparam(name) for name in _CHANGED}, "version": _s.version + 1, "updated_at": bindparam("at")})
)
_RESUMED_AT = compiled(select(_s.resumed_at).where(_MINE))
_NOTE_RESUME = compiled(update(SESSIONS).where(_MINE).values(resumed_at=bindparam("at")))
_TOMBSTONE = compiled(update(SESSIONS).where(_MINE).values(deleted_at=bindparam("at")))
_clock = func.clock_timestamp()
_OVER = compiled(
    select(
        case(
            (_j.state == "leased", case((_j.lease_until <= _clock, "lost"), else_="")),
            (
                _j.state == "queued",
                case(
                    (func.extract("epoch", _clock - _j.run_at) >= bindparam("seconds", type_=Float), "unclaimed"),
                    else_="",
                ),
            ),
            else_="lost",
        )
    ).where(_j.id == bindparam("of_job"))
)
_OFFERS = compiled(
    select(_r.adapter, _r.providers, _r.models).where(
        (_r.seen_until > _clock)
        | select(_j.id).where(_j.state == "leased", _j.lease_until > _clock, _j.runner_id == _r.runner_id).exists()
    )
)


class PostgresWork(KeyedWork):
    """Fills `Work`; `touched` are the sessions that something was said about, `jobs` whether one was queued."""

    def __init__(self, tx: Tx) -> None:
        super().__init__(tx)
        self.touched: dict[SessionKey, None] = {}
        self.jobs = False

    async def lock(self, key: SessionKey) -> Session:
        """FOR UPDATE: commands of one session stand in a line, in whatever process."""
        row = await self._tx.fetchrow(_LOCK, of_tenant=key.tenant, of_id=key.session)
        if row is None:
            raise session_not_found(key.session)
        return session_of(row)

    async def save(self, session: Session, now: datetime) -> None:
        """The columns that commands change."""
        await self._tx.execute(_SAVE, **_of(session), at=now, **{name: getattr(session, name) for name in _CHANGED})
        self._touch(session)

    async def resumed_at(self, key: SessionKey) -> datetime | None:
        """The newest cold resume."""
        at: datetime | None = await self._tx.fetchval(_RESUMED_AT, of_tenant=key.tenant, of_id=key.session)
        return at

    async def note_resume(self, key: SessionKey, at: datetime) -> None:
        """Was now."""
        await self._tx.execute(_NOTE_RESUME, of_tenant=key.tenant, of_id=key.session, at=at)

    async def tombstone(self, key: SessionKey, at: datetime) -> None:
        """Gone for every reader from the commit on."""
        await self._tx.execute(_TOMBSTONE, of_tenant=key.tenant, of_id=key.session, at=at)

    async def begin_turn(self, session: Session, text: str, by: str, now: datetime) -> None:
        """One is open at a time."""
        await turn_rows.begin(self._tx, _of(session), session.turn_id, session.turn_number, text, by, now)

    async def reserve_turn(self, session: Session, text: str, by: str, now: datetime, seconds: float) -> None:
        """By the database's clock."""
        await turn_rows.reserve(self._tx, _of(session), session.starting, session.turn_number, text, by, now, seconds)

    async def run_turn(self, session: Session) -> None:
        """The reserved one."""
        await turn_rows.run(self._tx, _of(session), session.turn_id)

    async def end_start(self, session: Session, now: datetime, *, stale: bool) -> bool:
        """Compare and set."""
        return await turn_rows.end_start(self._tx, _of(session), session.starting, now, stale=stale)

    async def find_turn(self, session: Session, turn_id: str) -> Turn | None:
        """By its id."""
        return await turn_rows.find(self._tx, _of(session), turn_id)

    async def turn(self, session: Session) -> Turn:
        """The newest."""
        turn = await turn_rows.find(self._tx, _of(session), session.turn_id)
        assert turn is not None, "a session's turn has a row"
        return turn

    async def move_turn(self, session: Session) -> None:
        """As the session."""
        await turn_rows.move(self._tx, _of(session), session.turn_id, session.state)

    async def request_abort(self, session: Session) -> None:
        """Of the newest."""
        await turn_rows.request_abort(self._tx, _of(session), session.turn_id)

    async def end_turn(self, session: Session, ended: Settlement, now: datetime) -> None:
        """Its row and its messages."""
        of, turn = _of(session), await self.turn(session)
        await turn_rows.end(self._tx, of, turn.id, session.state, ended, now)
        await gate_rows.speak(self._tx, of, turn.id, "user", turn.text, False, now)
        if ended.text or ended.outcome == "ok":
            await gate_rows.speak(self._tx, of, turn.id, "assistant", ended.text, ended.outcome != "ok", now)

    async def note_said(self, session: Session) -> None:
        """Of the turn under way."""
        await turn_rows.note_said(self._tx, _of(session))

    async def open_gates(self, session: Session) -> list[Gate]:
        """Oldest first."""
        return await gate_rows.open_gates(self._tx, _of(session))

    async def gate(self, session: Session, gate_id: str) -> Gate | None:
        """By id."""
        return await gate_rows.gate(self._tx, _of(session), gate_id)

    async def gate_asked(self, session: Session, request_id: str) -> Gate | None:
        """By the agent's id."""
        return await gate_rows.gate_asked(self._tx, _of(session), request_id)

    async def add_gate(self, session: Session, gate: Gate) -> None:
        """A new one."""
        await gate_rows.add_gate(self._tx, _of(session), gate)

    async def close_gate(
        self, session: Session, gate_id: str, state: GateState, answer: dict[str, Any] | None, by: str, now: datetime
    ) -> bool:
        """Compare and set."""
        return await gate_rows.close_gate(self._tx, _of(session), gate_id, state, answer, by, now)

    async def accept_joins(self, session: Session, gate: Gate, by: str, now: datetime) -> int:
        """Inside the session's lock."""
        return await gate_rows.accept_joins(self._tx, _of(session), gate.id, gate.proposal["joins"], by, now)

    async def command(self, session: Session, kind: str, payload: dict[str, Any], now: datetime) -> None:
        """The session's next sequence."""
        await command_rows.add(self._tx, _of(session), session.turn_id, kind, payload, now)
        self._touch(session)

    async def drop_commands(self, session: Session, *, but_answers: bool = False) -> None:
        """Those that wait."""
        await command_rows.drop(self._tx, _of(session), but_answers=but_answers)

    async def untold(self, session: Session) -> list[str]:
        """Of the newest turn."""
        return await command_rows.untold(self._tx, _of(session), session.turn_id)

    async def say(self, session: Session, name: str, body: dict[str, Any]) -> None:
        """Into the session's outbox."""
        await self.say_line(session, name, frames.line_of_json(body))

    async def say_line(self, session: Session, name: str, line: bytes) -> None:
        """As it is."""
        await say_line(self._tx, SessionKey(session.tenant, session.id), name, line)
        self._touch(session)

    async def begin_generation(self, session: Session) -> None:
        """A row of the outbox like any other, so that it keeps its place among them."""
        await self.say(session, GENERATION, {})

    async def fact(self, session: Session, kind: str, actor: str, now: datetime, before: str = "") -> None:
        """Thin: ids, states, who and when."""
        await fact(self._tx, session, kind, actor, now, before)
        self._touch(session)

    async def enqueue_job(self, session: Session) -> None:
        """Its kind names the adapter, so that a runner claims only what it can run."""
        await jobs.enqueue(
            self._tx,
            tenant=session.tenant,
            id=session.job_id,
            kind=job_kind(session.adapter),
            subject=session.id,
            payload={},
        )
        self.jobs = True

    async def cancel_job(self, session: Session, reason: str) -> None:
        """At once."""
        await jobs.cancel(self._tx, session.tenant, session.id, reason)
        self._touch(session)

    async def end_job(self, job_id: str, state: str, reason: str) -> None:
        """It is live."""
        await jobs.end(self._tx, job_id, state, reason)

    async def hold_job(self, job_id: str, fence: int) -> None:
        """Locked until the end."""
        await jobs.hold(self._tx, job_id, fence)

    async def job_over(self, job_id: str, unclaimed_seconds: float) -> str:
        """By the database's clock."""
        over: str | None = await self._tx.fetchval(_OVER, of_job=job_id, seconds=unclaimed_seconds)
        return "lost" if over is None else over

    async def offers(self) -> list[Offer]:
        """Of runners that asked lately or hold a live lease."""
        rows = await self._tx.fetch(_OFFERS)
        return [Offer(row["adapter"], tuple(row["providers"]), tuple(row["models"])) for row in rows]

    def _touch(self, session: Session) -> None:
        self.touched[SessionKey(session.tenant, session.id)] = None


class PostgresWorkshop:
    """Fills `Workshop`."""

    def __init__(self, database: Database, wake: Wake) -> None:
        self._database = database
        self._wake = wake

    @asynccontextmanager
    async def work(self) -> AsyncIterator[PostgresWork]:
        """One transaction, then the pings."""
        async with self._database.transaction() as tx:
            work = PostgresWork(tx)
            yield work
        await self._wake.committed(list(work.touched), jobs=work.jobs)


def job_kind(adapter: str) -> str:
    """The kind of a session's job."""
    return f"session.{adapter}"


def _of(session: Session) -> dict[str, str]:
    return {"of_tenant": session.tenant, "of_id": session.id}
