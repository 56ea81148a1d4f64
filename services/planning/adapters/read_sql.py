"""What readers see: one statement a question."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Integer, bindparam, func, select

from services.kernel.postgres import compiled
from services.planning.adapters.restore_sql import live_steps
from services.planning.adapters.tables import DOCUMENTS, STRETCHES, TURNS, WORKSPACES
from services.planning.adapters.turn_sql import TURN_FIELDS
from services.planning.adapters.workspace_sql import DOCUMENT_FIELDS, HELD, MINE, SHOWN

_w, _t, _r, _d = WORKSPACES.c, TURNS.c, STRETCHES.c, DOCUMENTS.c

LIVE: Final = compiled(select(*SHOWN, live_steps().label("steps")).where(MINE))
PAIR: Final = compiled(
    select(*SHOWN, live_steps().label("steps")).where(
        _w.tenant == bindparam("of_tenant"),
        (_w.session_id == bindparam("of_id")) | (_w.session_id == bindparam("of_other")),
    )
)
EXISTS: Final = compiled(select(_w.family).where(MINE))
DOCUMENT: Final = compiled(
    select(HELD.label("content"), *(_d[name] for name in DOCUMENT_FIELDS)).where(
        _d.tenant == bindparam("of_tenant"), _d.session_id == bindparam("of_id"), _d.key == bindparam("of_key")
    )
)
TURNS_OF: Final = compiled(
    select(*(_t[name] for name in TURN_FIELDS))
    .select_from(STRETCHES.join(TURNS, (_t.tenant == _r.tenant) & (_t.line == _r.line)))
    .where(
        _r.tenant == bindparam("of_tenant"),
        _r.session_id == bindparam("of_id"),
        _t.number > func.greatest(_r.low, bindparam("after", type_=Integer)),
        _t.number <= _r.high,
    )
    .order_by(_t.number)
    .limit(bindparam("most"))
)
