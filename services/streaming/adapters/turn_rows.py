"""Statements of turns; each inside the session's row lock but `note_said` and the reads."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime

from sqlalchemy import bindparam, insert, null, select, true, update

from services.kernel.postgres import Tx, compiled
from services.streaming.adapters.tables import SESSIONS
from services.streaming.adapters.turn_tables import TURNS
from services.streaming.application.work import Settlement, Turn
from services.streaming.domain.turns import TurnStage

_s, _t = SESSIONS.c, TURNS.c
_MINE = (_s.tenant == bindparam("of_tenant")) & (_s.id == bindparam("of_id"))
_TURN = (_t.tenant == bindparam("of_tenant")) & (_t.session_id == bindparam("of_id")) & (_t.id == bindparam("of_turn"))
_SHOWN = [_t[field.name] for field in fields(Turn)]

_INSERT = compiled(
    insert(TURNS).from_select(
        ["tenant", "session_id", "id", "number", "state", "text", "asked_by", "after_seq", "created_at"],
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
        ).where(_MINE),
    )
)
_ONE = compiled(select(*_SHOWN).where(_TURN))
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
_END = compiled(
    update(TURNS)
    .where(_TURN)
    .values(
        state=bindparam("to_state"),
        start_until=null(),
        outcome=bindparam("how"),
        code=bindparam("why"),
        usage=bindparam("cost", type_=_t.usage.type),
        said=_t.said | bindparam("spoke", type_=_t.said.type),
        ended_at=bindparam("at"),
    )
)


async def begin(tx: Tx, of: dict[str, str], turn_id: str, number: int, words: str, by: str, now: datetime) -> None:
    """A running turn. The partial unique index admits one that is open."""
    await tx.execute(_INSERT, **of, of_turn=turn_id, number=number, state="running", words=words, by=by, at=now)


async def find(tx: Tx, of: dict[str, str], turn_id: str) -> Turn | None:
    """By id."""
    row = await tx.fetchrow(_ONE, **of, of_turn=turn_id)
    return None if row is None else Turn(**{**dict(row), "state": TurnStage(row["state"])})


async def move(tx: Tx, of: dict[str, str], turn_id: str, state: str) -> None:
    """Another state."""
    await tx.execute(_MOVE, **of, of_turn=turn_id, to_state=state)


async def request_abort(tx: Tx, of: dict[str, str], turn_id: str) -> None:
    """Remembered, should the agent go before it answers."""
    await tx.execute(_ABORT, **of, of_turn=turn_id)


async def note_said(tx: Tx, of: dict[str, str]) -> bool:
    """The agent has said something in the turn under way. False: none is."""
    return await tx.execute(_SAID, **of) == 1


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
