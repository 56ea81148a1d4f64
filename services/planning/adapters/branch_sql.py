"""Statements about the sagas of branches."""

from __future__ import annotations

from typing import Final

from sqlalchemy import bindparam, delete, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from services.kernel.postgres import compiled
from services.planning.adapters.tables import BRANCHES

BRANCH_FIELDS: Final = (
    "tenant",
    "session_id",
    "origin_id",
    "turn",
    "origin_turn_id",
    "state",
    "reason",
    "title",
    "asked_by",
    "attempts",
    "due_at",
    "created_at",
)
_CHANGED: Final = ("origin_id", "state", "reason", "attempts", "due_at")
_b = BRANCHES.c
_SHOWN = [_b[name] for name in BRANCH_FIELDS]
_MINE = (_b.tenant == bindparam("of_tenant")) & (_b.session_id == bindparam("of_id"))
_UNDER_WAY = (_b.state == "forking") | (_b.state == "opening") | (_b.state == "abandoning")

ADD: Final = compiled(insert(BRANCHES).values({name: bindparam(name) for name in BRANCH_FIELDS}))
FIND: Final = compiled(select(*_SHOWN).where(_MINE))
LOCK: Final = compiled(select(*_SHOWN).where(_MINE).with_for_update())
SAVE: Final = compiled(update(BRANCHES).where(_MINE).values({name: bindparam(name) for name in _CHANGED}))
DROP: Final = compiled(delete(BRANCHES).where(_MINE))
DUE: Final = compiled(
    select(*_SHOWN)
    .where(_UNDER_WAY, _b.due_at <= bindparam("now"))
    .order_by(_b.due_at)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_OF_ORIGIN = (_b.tenant == bindparam("of_tenant")) & (_b.origin_id == bindparam("of_id"))
ORPHAN: Final = compiled(update(BRANCHES).where(_OF_ORIGIN, _b.state != "failed").values(origin_id=""))
FORGET_FAILED: Final = compiled(delete(BRANCHES).where(_OF_ORIGIN, _b.state == "failed"))
PAGE: Final = compiled(
    select(*_SHOWN)
    .where(
        _OF_ORIGIN,
        tuple_(_b.created_at, _b.session_id)
        > tuple_(bindparam("after_time", type_=_b.created_at.type), bindparam("after_id")),
    )
    .order_by(_b.created_at, _b.session_id)
    .limit(bindparam("most"))
)
