"""The tables of threads and the statements on them, compiled once (design/style.md, rule 14)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    DateTime,
    Insert,
    Integer,
    MetaData,
    Table,
    Text,
    Update,
    and_,
    any_,
    bindparam,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON, insert

from services.kernel import outbox
from services.kernel.postgres import Statement, compiled
from services.threads.domain.kinds import Kind

_META: Final = MetaData()
THREADS: Final = Table(
    "threads",
    _META,
    Column("tenant", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("state", Text),
    Column("seq", BigInteger),
    Column("parent_id", Text),
    Column("root_id", Text),
    Column("path", ARRAY(Text)),
    Column("ordinal", Integer),
    Column("children", Integer),
    Column("open_children", Integer),
    Column("since", DateTime(timezone=True)),
    Column("resurface_at", DateTime(timezone=True)),
    Column("timer_at", DateTime(timezone=True)),
    Column("create_time", DateTime(timezone=True)),
    Column("update_time", DateTime(timezone=True)),
    Column("ends_early", Boolean),
    Column("policy_met", Boolean),
    Column("session_id", Text),
    Column("doc", JSON),
    Column("inbox_at", DateTime(), Computed("")),
)
EVENTS: Final = Table(
    "thread_events",
    _META,
    Column("tenant", Text, primary_key=True),
    Column("thread_id", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("id", Text),
    Column("kind", Text),
    Column("actor_kind", Text),
    Column("actor_subject", Text),
    Column("time", DateTime(timezone=True)),
    Column("data", JSON),
    Column("proposal_id", Text),
    Column("cited_proposal_id", Text),
)
ACTIONS: Final = Table(
    "actions",
    _META,
    Column("tenant", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("doc", JSON),
)
_t, _e, _a = THREADS.c, EVENTS.c, ACTIONS.c
_TIME = DateTime(timezone=True)
_THIS = and_(_t.tenant == bindparam("of_tenant"), _t.id == bindparam("of_id"))
_ROW = tuple(column.name for column in THREADS.columns if column.computed is None)

LOCK = compiled(select(_t.doc).where(_THIS).with_for_update(key_share=True))
TRY_LOCK = compiled(select(_t.doc).where(_THIS).with_for_update(key_share=True, skip_locked=True))
_CHANGING = (
    "state",
    "seq",
    "children",
    "open_children",
    "since",
    "resurface_at",
    "timer_at",
    "update_time",
    "ends_early",
    "policy_met",
    "doc",
)
ENTRY: Final = "entry_"
FACT: Final = "fact_"
"""Before the names of columns, where one statement writes several tables."""
_ENTRY = insert(EVENTS).values({column.name: bindparam(f"{ENTRY}{column.name}") for column in EVENTS.columns})
_TOLD = outbox.insertion(FACT).add_cte(_ENTRY.cte("entry"))


def _with_an_event(row: Insert | Update) -> Statement:
    """A row, an entry of the log and its fact in one statement: one round trip, which costs more than each of them."""
    return compiled(_TOLD.add_cte(row.cte("row")))


APPEND = compiled(_TOLD)
"""An entry of the log and its fact."""
INSERT = _with_an_event(insert(THREADS).values({name: bindparam(name) for name in _ROW}))
UPDATE = _with_an_event(update(THREADS).where(_THIS).values({name: bindparam(f"to_{name}") for name in _CHANGING}))
UPDATE_KEEPING_TIMER = _with_an_event(
    update(THREADS).where(_THIS).values({name: bindparam(f"to_{name}") for name in _CHANGING if name != "timer_at"})
)
CLEAR_TIMER = compiled(update(THREADS).where(_THIS).values(timer_at=None))
TIMER = compiled(select(_t.timer_at).where(_THIS))
DUE = compiled(
    select(_t.tenant, _t.doc)
    .where(_t.timer_at <= bindparam("now", type_=_TIME))
    .order_by(_t.timer_at)
    .limit(bindparam("most"))
    .with_for_update(key_share=True, skip_locked=True)
)
SNOOZED = compiled(
    select(_t.tenant, _t.doc)
    .where(_t.resurface_at <= bindparam("now", type_=_TIME))
    .order_by(_t.resurface_at)
    .limit(bindparam("most"))
    .with_for_update(key_share=True, skip_locked=True)
)
LOG = compiled(
    select(EVENTS)
    .where(_e.tenant == bindparam("of_tenant"), _e.thread_id == bindparam("of_id"), _e.seq > bindparam("after"))
    .order_by(_e.seq)
    .limit(bindparam("most"))
)
SETTLED = compiled(
    select(EVENTS)
    .where(
        _e.tenant == bindparam("of_tenant"),
        _e.thread_id == bindparam("of_id"),
        or_(_e.proposal_id == bindparam("proposal"), _e.cited_proposal_id == bindparam("proposal")),
    )
    .order_by(_e.seq.desc())
    .limit(1)
)
NOT_DEFERRED = or_(_t.resurface_at.is_(None), _t.resurface_at <= bindparam("now", type_=_TIME))
CHILD_STATES = compiled(
    select(_t.parent_id, _t.state, func.count().label("threads"))
    .where(_t.tenant == bindparam("of_tenant"), _t.parent_id == any_(bindparam("parents", type_=ARRAY(Text))))
    .group_by(_t.parent_id, _t.state)
)
DELETED = compiled(
    select(
        exists().where(
            _e.tenant == bindparam("of_tenant"),
            _e.thread_id == bindparam("of_id"),
            _e.kind == Kind.GROUP_DELETED.value,
            _e.data.op("->>")("deleted_child_id") == bindparam("child", type_=Text),
        )
    )
)
ACTION = compiled(select(_a.doc).where(_a.tenant == bindparam("of_tenant"), _a.name == bindparam("of_name")))
ACTIONS_OF = compiled(select(_a.doc).where(_a.tenant == bindparam("of_tenant")).order_by(_a.name))
ACTION_COUNT = compiled(
    select(func.count())
    .select_from(ACTIONS)
    .where(_a.tenant == bindparam("of_tenant"), _a.name != bindparam("of_name"))
)
REGISTER = compiled(
    insert(ACTIONS)
    .values(tenant=bindparam("tenant"), name=bindparam("name"), doc=bindparam("doc"))
    .on_conflict_do_update(index_elements=[_a.tenant, _a.name], set_={"doc": bindparam("doc")})
)
