"""Statements about what agents were told in their turns."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Integer, Text, bindparam, select, update

from services.kernel.postgres import Row, compiled
from services.planning.adapters.blob_sql import text_of
from services.planning.adapters.tables import STRETCHES, TURNS
from services.planning.domain.context import Context

_t, _r = TURNS.c, STRETCHES.c
_SHOWN = (
    _t.number,
    _t.turn_id,
    text_of(_t.tenant, _t.family, _t.told, TURNS).label("text"),
    _t.told.label("sha256"),
    _t.told_version,
    _t.told_at,
)
_number, _id = bindparam("of_number", type_=Integer), bindparam("of_turn", type_=Text)

TELL: Final = compiled(
    update(TURNS)
    .where(
        _t.tenant == bindparam("of_tenant"),
        _t.line == bindparam("of_id"),
        _t.turn_id == bindparam("of_turn"),
        _t.running,
        _t.told.is_(None),
    )
    .values(told=bindparam("digest"), told_version=bindparam("version"), told_at=bindparam("at"))
)
TOLD_IN: Final = compiled(
    select(*_SHOWN).where(
        _t.tenant == bindparam("of_tenant"),
        _t.line == bindparam("of_id"),
        _t.turn_id == bindparam("of_turn"),
        _t.told.is_not(None),
    )
)
TOLD: Final = compiled(
    select(*_SHOWN)
    .select_from(STRETCHES.join(TURNS, (_t.tenant == _r.tenant) & (_t.line == _r.line)))
    .where(
        _r.tenant == bindparam("of_tenant"),
        _r.session_id == bindparam("of_id"),
        _t.number > _r.low,
        _t.number <= _r.high,
        _t.told.is_not(None),
        (_number == 0) | (_t.number == _number),
        (_id == "") | (_t.turn_id == _id),
    )
    .order_by(_t.number.desc())
    .limit(1)
)
"""In a turn that the session has, its ancestors' included; 0 and empty: in the newest one."""


def context_of(row: Row) -> Context:
    """Out of a row of TOLD or TOLD_IN."""
    return Context(row["number"], row["turn_id"], row["text"], row["sha256"], row["told_version"], row["told_at"])
