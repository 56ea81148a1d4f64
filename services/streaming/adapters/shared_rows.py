"""A session's turns and messages, its own and those that it shares with its ancestors (`stretches`), as one past.

Shared rows stand under the session where they happened, their `line`, and do not change any more. Messages are counted
by line: a session shows them after all that it shares."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Integer,
    Text,
    bindparam,
    case,
    func,
    insert,
    literal,
    literal_column,
    select,
    true,
    union_all,
)

from services.kernel.postgres import Row, Tx, compiled
from services.streaming.adapters.turn_rows import TURN_SHOWN, turn_of
from services.streaming.adapters.turn_tables import AGENT_STATES, MESSAGES, STRETCHES, TURNS
from services.streaming.application.ports import SessionKey
from services.streaming.application.work import Turn
from services.streaming.domain.shared_turns import seen_as

_t, _m, _p, _a = TURNS.c, MESSAGES.c, STRETCHES.c, AGENT_STATES.c
_tenant, _id = bindparam("of_tenant", type_=Text), bindparam("of_id", type_=Text)
_SHARED = (_p.tenant == _tenant) & (_p.session_id == _id)
_ALL = 2**31 - 1
# Literals, so that the partial indexes of turns are found whatever plan is kept.
_ZERO, _NONE = literal_column("0", Integer), literal_column("''", Text)

_lines = union_all(
    select(_p.line, _p.high, _p.messages_before, _p.messages).where(_SHARED),
    select(
        _id,
        literal(_ALL, Integer),
        select(func.coalesce(func.max(_p.messages_before + _p.messages), 0)).where(_SHARED).scalar_subquery(),
        literal(_ALL, BigInteger),
    ),
).cte("lines")
_line = _lines.c
_OF_LINE = (_t.tenant == _tenant) & (_t.session_id == _line.line) & (_t.number > _ZERO) & (_t.number <= _line.high)
_most = bindparam("most", type_=Integer)

_SHARED_TURN = compiled(
    select(*TURN_SHOWN)
    .select_from(STRETCHES.join(TURNS, (_t.tenant == _p.tenant) & (_t.session_id == _p.line) & (_t.number <= _p.high)))
    .where(_SHARED, _t.id == bindparam("of_turn", type_=Text))
)
_TURN_AT = compiled(
    select(_line.line, _line.messages_before, *TURN_SHOWN, _t.agent_state)
    .select_from(_lines.join(TURNS, _OF_LINE))
    .where(_t.number == _most)
)
_stated = (
    select(_t.number, _t.agent_state)
    .where(
        _OF_LINE,
        _t.number <= _most,
        _t.agent_state != _NONE,
        select(_a.digest).where(_a.tenant == _tenant, _a.digest == _t.agent_state).exists(),
    )
    .order_by(_t.number.desc())
    .limit(1)
    .correlate(_lines)
    .lateral("stated")
)
_NEWEST_STATE = compiled(
    select(_stated.c.agent_state)
    .select_from(_lines.join(_stated, true()))
    .order_by(_stated.c.number.desc())
    .limit(literal(1))
)
_last_said = (
    select(_m.sequence)
    .where(_m.tenant == _t.tenant, _m.session_id == _t.session_id, _m.turn_id == _t.id)
    .order_by(_m.sequence.desc())
    .limit(1)
    .correlate(TURNS)
    .lateral("last_said")
)
_SAID_UP_TO = compiled(
    select(_last_said.c.sequence)
    .select_from(TURNS.join(_last_said, true()))
    .where(
        _t.tenant == _tenant,
        _t.session_id == bindparam("of_line", type_=Text),
        _t.number > _ZERO,
        _t.number <= _most,
    )
    .order_by(_t.number.desc())
    .limit(literal(1))
)
_COLUMNS = ["tenant", "session_id", "line", "high", "messages_before", "messages"]
_SHARE_ALIKE = compiled(
    insert(STRETCHES).from_select(
        _COLUMNS,
        select(_p.tenant, bindparam("to_id", type_=Text), _p.line, _p.high, _p.messages_before, _p.messages).where(
            _SHARED, _p.high < _most
        ),
    )
)
_SHARE = compiled(insert(STRETCHES).values({name: bindparam(name) for name in _COLUMNS}))
_after = bindparam("after_one", type_=BigInteger)
_of_turn = bindparam("of_turn", type_=Text)
_said = (
    select(_m.session_id, _m.sequence, _m.turn_id, _m.role, _m.text, _m.partial, _m.created_at)
    .where(
        _m.tenant == _tenant,
        _m.session_id == _line.line,
        _m.sequence > _after - _line.messages_before,
        _m.sequence <= _line.messages,
        (_of_turn == "")
        | (_m.turn_id == case((_line.line == _id, _of_turn), else_=bindparam("of_shared_turn", type_=Text))),
    )
    .order_by(_m.sequence)
    .limit(bindparam("size"))
    .correlate(_lines)
    .lateral("said")
)
_sequence = (_line.messages_before + _said.c.sequence).label("sequence")
_MESSAGES = compiled(
    select(
        _said.c.session_id.label("line"),
        _sequence,
        *(_said.c[name] for name in ("turn_id", "role", "text", "partial", "created_at")),
        _t.number,
    )
    .select_from(
        _lines.join(_said, true()).join(
            TURNS, (_t.tenant == _tenant) & (_t.session_id == _said.c.session_id) & (_t.id == _said.c.turn_id)
        )
    )
    .order_by(_sequence)
    .limit(bindparam("size"))
)


async def shared_turn(tx: Tx, key: SessionKey, turn_id: str) -> Turn | None:
    """A turn that the session shares, by the id that it has there, and as it is there."""
    row = await tx.fetchrow(_SHARED_TURN, **_of(key), of_turn=seen_as(turn_id, key.session))
    if row is None:
        return None
    happened = row["origin_turn_id"] or row["id"]
    return turn_of({**dict(row), "id": turn_id, "origin_turn_id": happened, "after_seq": 0})


async def turn_at(tx: Tx, key: SessionKey, number: int) -> Row | None:
    """The row of a turn by its number, with its line and how many messages stand before those of that line."""
    return await tx.fetchrow(_TURN_AT, **_of(key), most=number)


async def newest_state(tx: Tx, key: SessionKey, most: int) -> str:
    """The digest of the agent's state after the last turn, up to that number, of which one is stored; empty: none."""
    digest: str | None = await tx.fetchval(_NEWEST_STATE, **_of(key), most=most)
    return digest or ""


async def share(tx: Tx, of: SessionKey, last: Row, branch_id: str) -> None:
    """The branch shares the past of the other session up to the turn `last`, as `turn_at` told it."""
    most, line = last["number"], last["line"]
    await tx.execute(_SHARE_ALIKE, **_of(of), to_id=branch_id, most=most)
    messages = await tx.fetchval(_SAID_UP_TO, of_tenant=of.tenant, of_line=line, most=most)
    row = {"line": line, "high": most, "messages_before": last["messages_before"], "messages": messages or 0}
    await tx.execute(_SHARE, tenant=of.tenant, session_id=branch_id, **row)


async def page_of_messages(
    tx: Tx, key: SessionKey, turn_id: str, after: int, size: int
) -> tuple[list[dict[str, Any]], bool]:
    """Oldest first, of one turn or (empty id) of all, and whether there are more."""
    shared = seen_as(turn_id, key.session) if turn_id else ""
    rows = await tx.fetch(_MESSAGES, **_of(key), of_turn=turn_id, of_shared_turn=shared, after_one=after, size=size + 1)
    return [_seen(dict(row), key.session) for row in rows[:size]], len(rows) > size


def _seen(row: dict[str, Any], session_id: str) -> dict[str, Any]:
    line, turn_id = row.pop("line"), row["turn_id"]
    return {**row, "turn_id": turn_id if line == session_id else seen_as(turn_id, session_id)}


def _of(key: SessionKey) -> dict[str, str]:
    return {"of_tenant": key.tenant, "of_id": key.session}
