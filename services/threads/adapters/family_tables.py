"""Statements on whole families: lines of ancestors, levels of children, and writes of many threads at once."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    DateTime,
    Integer,
    Text,
    and_,
    any_,
    bindparam,
    case,
    cast,
    column,
    exists,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON

from services.kernel.postgres import compiled
from services.threads.adapters.tables import THREADS
from services.threads.domain.states import TERMINAL

_t = THREADS.c
_a = THREADS.alias("a")
LIVE: Final = text(f"threads.state NOT IN ({', '.join(repr(state.value) for state in sorted(TERMINAL))})")
"""Literals, as the partial index has them: with parameters the planner could not use it."""
_IDS = any_(bindparam("ids", type_=ARRAY(Text)))
_PARENTS = any_(bindparam("parents", type_=ARRAY(Text)))
_OF_TENANT = _t.tenant == bindparam("of_tenant")
_THIS = and_(_OF_TENANT, _t.id == bindparam("of_id"))

LOCK_ROOT = compiled(select(_t.doc).where(_THIS, _t.parent_id.is_(None)).with_for_update(key_share=True))
_line = select(func.array_append(_t.path, _t.id)).where(_THIS).scalar_subquery()
# The line is read first, by key, and each of its rows by key then: a join would look at every thread.
LINEAGE = compiled(
    select(_a.c.id, _a.c.open_children, _a.c.ends_early)
    .where(_a.c.tenant == bindparam("of_tenant"), _a.c.id == any_(cast(_line, ARRAY(Text))))
    .order_by(func.cardinality(_a.c.path))
)
_CHAIN = select(_t.doc).where(_OF_TENANT, _t.id == _IDS).order_by(func.cardinality(_t.path))
# The rows are locked in the order of the sort: ancestors first (section 0.4).
LOCK_CHAIN = compiled(_CHAIN.with_for_update(key_share=True))
TRY_LOCK_CHAIN = compiled(_CHAIN.with_for_update(key_share=True, skip_locked=True))
LOCK_OPEN_CHILDREN = compiled(
    select(_t.doc).where(_OF_TENANT, _t.parent_id == _PARENTS, LIVE).order_by(_t.id).with_for_update(key_share=True)
)
HAS_OPEN_CHILD = compiled(select(exists().where(_OF_TENANT, _t.parent_id == bindparam("of_id"), LIVE)))
MET_ABOVE = compiled(select(exists().where(_OF_TENANT, _t.id == _IDS, _t.policy_met)))

_CHANGING: Final[dict[str, Any]] = {
    "state": Text,
    "seq": BigInteger,
    "children": Integer,
    "open_children": Integer,
    "since": DateTime(timezone=True),
    "resurface_at": DateTime(timezone=True),
    "update_time": DateTime(timezone=True),
    "ends_early": Boolean,
    "policy_met": Boolean,
    "doc": JSON,
}
MANY: Final = ("id", *_CHANGING, "timer_at", "keeps_timer")
"""The columns of UPDATE_MANY, each an array."""
_TYPES = {"id": Text, **_CHANGING, "timer_at": DateTime(timezone=True), "keeps_timer": Boolean}
_new = (
    func.unnest(*(bindparam(f"all_{name}", type_=ARRAY(_TYPES[name])) for name in MANY))
    .table_valued(
        *(column(name, _TYPES[name]) for name in MANY),
        name="new",
    )
    .render_derived()
)
UPDATE_MANY = compiled(
    update(THREADS)
    .where(_OF_TENANT, _t.id == _new.c.id)
    .values(
        **{name: _new.c[name] for name in _CHANGING},
        timer_at=case((_new.c.keeps_timer, _t.timer_at), else_=_new.c.timer_at),
    )
)
