"""Statements about turns and what they keep."""

from __future__ import annotations

from typing import Final

from sqlalchemy import ARRAY, LargeBinary, Text, bindparam, func, select, true, update
from sqlalchemy.dialects.postgresql import insert

from services.kernel.postgres import compiled
from services.planning.adapters.blob_sql import data_of
from services.planning.adapters.tables import BLOBS, DOCUMENTS, ENDED_TURNS, TURNS

TURN_FIELDS: Final = (
    "line",
    "number",
    "turn_id",
    "running",
    "outcome",
    "kept",
    "leaves",
    "done_leaves",
    "begun_at",
    "ended_at",
)
_t, _b, _d = TURNS.c, BLOBS.c, DOCUMENTS.c
KEPT_PARTS: Final = ("objective", "plan", "documents")
"""The columns that name what a turn keeps, each by its digest."""

TURN_OF_ID: Final = compiled(
    select(*(_t[name] for name in TURN_FIELDS)).where(
        _t.tenant == bindparam("of_tenant"), _t.turn_id == bindparam("of_turn")
    )
)
INSERT_TURN: Final = compiled(
    insert(TURNS).values(
        {
            "tenant": bindparam("tenant"),
            "family": bindparam("family"),
            "running": true(),
            "kept": true(),
            **{
                name: bindparam(name)
                for name in ("line", "number", "turn_id", "leaves", "done_leaves", "begun_at", *KEPT_PARTS)
            },
        }
    )
)
END_TURN: Final = compiled(
    update(TURNS)
    .where(
        _t.tenant == bindparam("of_tenant"),
        _t.line == bindparam("of_line"),
        _t.number == bindparam("of_number"),
        _t.running | (_t.outcome == "superseded"),
    )
    .values(running=False, outcome=bindparam("how"), ended_at=func.coalesce(_t.ended_at, bindparam("at")))
)
IS_ENDED: Final = compiled(
    select(ENDED_TURNS.c.turn_id).where(
        ENDED_TURNS.c.tenant == bindparam("of_tenant"),
        ENDED_TURNS.c.session_id == bindparam("of_id"),
        ENDED_TURNS.c.turn_id == bindparam("of_turn"),
    )
)
NOTE_ENDED: Final = compiled(
    insert(ENDED_TURNS)
    .values(
        tenant=bindparam("of_tenant"),
        session_id=bindparam("of_id"),
        turn_id=bindparam("of_turn"),
        ended_at=bindparam("at"),
    )
    .on_conflict_do_nothing()
)

# Blobs are inserted in the order of their digests, so that two sessions of a family do not wait for one another.
_GIVEN = (
    func.unnest(bindparam("digests", type_=ARRAY(Text)), bindparam("datas", type_=ARRAY(LargeBinary)))
    .table_valued("sha256", "data")
    .render_derived("given")
)
KEEP: Final = compiled(
    insert(BLOBS)
    .from_select(
        ["tenant", "family", "sha256", "data"],
        select(
            bindparam("of_tenant", type_=Text), bindparam("of_family", type_=Text), _GIVEN.c.sha256, _GIVEN.c.data
        ).order_by(_GIVEN.c.sha256),
    )
    .on_conflict_do_nothing()
)
_NOT_KEPT = data_of(_d.tenant, bindparam("of_family", type_=Text), _d.sha256, DOCUMENTS).is_(None)
KEEP_CONTENTS: Final = compiled(
    insert(BLOBS)
    .from_select(
        ["tenant", "family", "sha256", "data"],
        select(
            _d.tenant,
            bindparam("of_family", type_=Text),
            _d.sha256,
            func.convert_to(_d.content, "UTF8"),
        )
        .where(
            _d.tenant == bindparam("of_tenant"),
            _d.session_id == bindparam("of_id"),
            _d.content.is_not(None),
            _NOT_KEPT,
        )
        .order_by(_d.sha256),
    )
    .on_conflict_do_nothing()
)
BLOBS_OF: Final = compiled(
    select(_b.sha256, _b.data).where(
        _b.tenant == bindparam("of_tenant"),
        _b.family == bindparam("of_family"),
        _b.sha256 == func.any(bindparam("digests", type_=ARRAY(Text))),
    )
)
