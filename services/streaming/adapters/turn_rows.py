"""Statements of turns; each inside the session's row lock but `note_said`, `note_usage`, `stale` and the reads."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import Float, bindparam, case, func, insert, null, select, true, update

from services.kernel.postgres import Row, Tx, compiled
from services.streaming.adapters.tables import SESSIONS
from services.streaming.adapters.turn_tables import TURNS
from services.streaming.application.work import Settlement, Turn
from services.streaming.domain.turns import TurnStage

_s, _t = SESSIONS.c, TURNS.c
_MINE = (_s.tenant == bindparam("of_tenant")) & (_s.id == bindparam("of_id"))
_TURN = (_t.tenant == bindparam("of_tenant")) & (_t.session_id == bindparam("of_id")) & (_t.id == bindparam("of_turn"))
_clock = func.clock_timestamp()
TURN_SHOWN = [_t[field.name] for field in fields(Turn)]

_soon = _clock + func.make_interval(0, 0, 0, 0, 0, 0, bindparam("seconds", type_=Float))
_INSERT = compiled(
    insert(TURNS).from_select(
        [
            *("tenant", "session_id", "id", "number", "state", "text", "asked_by", "after_seq", "created_at"),
            *("begun", "start_until"),
        ],
        select(
            _s.tenant,
            _s.id,
            bindparam("of_turn", type_=_t.id.type),
            bindparam("number", type_=_t.number.type),
            bindparam("state", type_=_t.state.type),
            bindparam("words", type_=_t.text.type),
            bindparam("by", type_=_t.asked_by.type),
            _s.tail_seq,
            bindparam("at", type_=_t.created_at.type),
            bindparam("begun", type_=_t.begun.type),
            case((bindparam("begun", type_=_t.begun.type), null()), else_=_soon),
        ).where(_MINE),
    )
)
_ONE = compiled(select(*TURN_SHOWN).where(_TURN))
_STARTS = _TURN & (_t.state == "starting")
_RUN = compiled(
    update(TURNS)
    .where(_STARTS)
    .values(
        state="running",
        begun=true(),
        start_until=null(),
        after_seq=select(_s.tail_seq).where(_MINE).scalar_subquery(),
    )
)
_END_START = compiled(
    update(TURNS)
    .where(_STARTS, (_t.start_until <= _clock) | bindparam("anyway", type_=_t.begun.type))
    .values(state="failed", outcome="failed", code="start_failed", start_until=null(), ended_at=bindparam("at"))
)
_STALE = compiled(
    select(_t.tenant, _t.session_id, _t.id)
    .select_from(TURNS.join(SESSIONS, (_s.tenant == _t.tenant) & (_s.id == _t.session_id)))
    .where(_t.start_until <= _clock, _s.starting == _t.id, _s.deleted_at.is_(None))
    .order_by(_t.start_until)
    .limit(bindparam("most"))
)
_MOVE = compiled(update(TURNS).where(_TURN).values(state=bindparam("to_state")))
_ABORT = compiled(update(TURNS).where(_TURN).values(abort_requested=true()))
_SAID = compiled(
    update(TURNS)
    .where(
        _t.tenant == bindparam("of_tenant"),
        _t.session_id == bindparam("of_id"),
        _t.id == select(_s.turn_id).where(_MINE).scalar_subquery(),
        (_t.state == "running") | (_t.state == "waiting"),
    )
    .values(said=true())
)
_COST = bindparam("cost", type_=_t.usage.type)
_COUNT = compiled(
    update(TURNS)
    .where(_TURN, (_t.state == "running") | (_t.state == "waiting"), _t.usage.is_distinct_from(_COST))
    .values(usage=_COST)
)
_END = compiled(
    update(TURNS)
    .where(_TURN)
    .values(
        state=bindparam("to_state"),
        start_until=null(),
        outcome=bindparam("how"),
        code=bindparam("why"),
        usage=func.coalesce(bindparam("cost", type_=_t.usage.type), _t.usage),
        said=_t.said | bindparam("spoke", type_=_t.said.type),
        ended_at=bindparam("at"),
    )
)


async def begin(tx: Tx, of: dict[str, str], turn_id: str, number: int, words: str, by: str, now: datetime) -> None:
    """A running turn. The partial unique index admits one that is open."""
    row = {"of_turn": turn_id, "number": number, "state": "running", "words": words, "by": by, "at": now}
    await tx.execute(_INSERT, **of, **row, begun=True, seconds=0.0)


async def reserve(
    tx: Tx, of: dict[str, str], turn_id: str, number: int, words: str, by: str, now: datetime, seconds: float
) -> None:
    """A turn that starts."""
    row = {"of_turn": turn_id, "number": number, "state": "starting", "words": words, "by": by, "at": now}
    await tx.execute(_INSERT, **of, **row, begun=False, seconds=seconds)


async def run(tx: Tx, of: dict[str, str], turn_id: str) -> None:
    """It started, and runs."""
    await tx.execute(_RUN, **of, of_turn=turn_id)


async def end_start(tx: Tx, of: dict[str, str], turn_id: str, now: datetime, *, stale: bool) -> bool:
    """It has failed before it ran. False: it does not start (any more), or, with `stale`, has time left."""
    return await tx.execute(_END_START, **of, of_turn=turn_id, at=now, anyway=not stale) == 1


async def stale(tx: Tx, most: int) -> list[Row]:
    """(tenant, session_id, id) of starts whose time is over."""
    return await tx.fetch(_STALE, most=most)


async def find(tx: Tx, of: dict[str, str], turn_id: str) -> Turn | None:
    """By id."""
    row = await tx.fetchrow(_ONE, **of, of_turn=turn_id)
    return None if row is None else turn_of(dict(row))


async def move(tx: Tx, of: dict[str, str], turn_id: str, state: str) -> None:
    """Another state."""
    await tx.execute(_MOVE, **of, of_turn=turn_id, to_state=state)


async def request_abort(tx: Tx, of: dict[str, str], turn_id: str) -> None:
    """Remembered, should the agent go before it answers."""
    await tx.execute(_ABORT, **of, of_turn=turn_id)


async def note_said(tx: Tx, of: dict[str, str]) -> bool:
    """The agent has said something in the turn under way. False: none is."""
    return await tx.execute(_SAID, **of) == 1


async def note_usage(tx: Tx, of: dict[str, str], turn_id: str, usage: dict[str, Any]) -> None:
    """What it has cost so far, while it is under way."""
    await tx.execute(_COUNT, **of, of_turn=turn_id, cost=usage)


async def end(tx: Tx, of: dict[str, str], turn_id: str, state: str, ended: Settlement, now: datetime) -> None:
    """Its end."""
    await tx.execute(
        _END,
        **of,
        of_turn=turn_id,
        to_state=state,
        how=ended.outcome,
        why=ended.code,
        cost=ended.usage,
        spoke=ended.said or bool(ended.text),
        at=now,
    )


def turn_of(fields: dict[str, Any]) -> Turn:
    """A turn out of the TURN_SHOWN columns."""
    return Turn(**{**fields, "state": TurnStage(fields["state"])})
