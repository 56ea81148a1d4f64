"""Reads of families: a thread with its line of ancestors checked, all members for a hoist, children in spawn order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson
from sqlalchemy import Integer as Int
from sqlalchemy import Text, any_, bindparam, case, func, select, text, tuple_
from sqlalchemy.dialects.postgresql import ARRAY

from services.kernel.postgres import Row, Tx, compiled
from services.threads.adapters import items, thread_doc
from services.threads.adapters.family_tables import LIVE
from services.threads.adapters.tables import THREADS
from services.threads.domain.errors import CorruptFamily, ThreadNotFound
from services.threads.domain.hoisting import Member
from services.threads.domain.proposal import Proposal
from services.threads.domain.states import CLARIFICATION, INFERRING, State
from services.threads.domain.thread import Relationship, Thread

_t = THREADS.c
_a = THREADS.alias("a")
_OF_TENANT = _t.tenant == bindparam("of_tenant")
_place = func.array_position(_t.path, _a.c.id)
_SOUND = (
    select(func.count())
    .where(
        _a.c.tenant == _t.tenant,
        _a.c.id == any_(_t.path),
        _a.c.path == text("threads.path[1 : array_position(threads.path, a.id) - 1]"),
    )
    .scalar_subquery()
    .correlate(THREADS)
    .label("sound")
)
FIND = compiled(
    select(_t.doc, items.WITH_ITEMS, _t.parent_id, _t.path, _SOUND).where(_OF_TENANT, _t.id == bindparam("of_id"))
)
"""`sound`: how many ancestors stand where the path says; in a cycle that is never all of them (PUB20)."""
MEMBERS = compiled(
    select(_t.id, _t.parent_id, _t.root_id, _t.ordinal, _t.state, _t.doc).where(
        _OF_TENANT, _t.root_id == any_(bindparam("roots", type_=ARRAY(Text))), _t.parent_id.is_not(None)
    )
)
CHILDREN = compiled(
    select(_t.doc, items.WITH_ITEMS)
    .where(
        _OF_TENANT,
        _t.parent_id == bindparam("parent"),
        tuple_(_t.ordinal, _t.id) > tuple_(bindparam("after_ordinal", type_=Int), bindparam("after_id", type_=Text)),
    )
    .order_by(_t.ordinal, _t.id)
    .limit(bindparam("most"))
)
_STATE: Final = {state.value: state for state in State}
_FAILED_FIRST = case((_t.state == text("'awaiting_redirect'"), 0), else_=1)
WAITED = compiled(
    select(_t.doc, func.count().over().label("total"))
    .where(
        _OF_TENANT,
        _t.root_id == bindparam("root"),
        _t.parent_id.is_not(None),
        bindparam("above", type_=Text) == any_(_t.path),
        _t.open_children == 0,
        LIVE,
    )
    .order_by(_FAILED_FIRST, _t.id)
    .limit(bindparam("most"))
)
"""Ids rise in spawn order."""
_KEEPS_PRIOR: Final = frozenset(
    {State.AWAITING_INFERENCE, *INFERRING.values(), *CLARIFICATION.values(), State.DISMISSED}
)


async def sound_thread(tx: Tx, tenant: str, thread_id: str) -> Thread:
    """The thread with its items. ThreadNotFound; CorruptFamily when its line of ancestors is none."""
    row = await tx.fetchrow(FIND, of_tenant=tenant, of_id=thread_id)
    if row is None:
        raise ThreadNotFound(thread_id)
    thread = items.thread_of(row)
    path = tuple(row["path"])
    parent = path[-1] if path else None
    if row["sound"] != len(path) or row["parent_id"] != parent or (thread.parent_id, thread.path) != (parent, path):
        raise CorruptFamily(thread_id)
    return thread


async def members(tx: Tx, tenant: str, roots: Sequence[str]) -> list[Member]:
    """Everybody below these roots, in one statement, however deep."""
    return [_member(row) for row in await tx.fetch(MEMBERS, of_tenant=tenant, roots=list(roots))]


async def children(tx: Tx, tenant: str, parent: str, after: tuple[int, str] | None, most: int) -> list[Thread]:
    """In spawn order."""
    ordinal, last = after or (-1, "")
    rows = await tx.fetch(CHILDREN, of_tenant=tenant, parent=parent, after_ordinal=ordinal, after_id=last, most=most)
    return [items.thread_of(row) for row in rows]


async def waited(tx: Tx, tenant: str, parent: Thread, most: int) -> tuple[list[Thread], int]:
    """The open threads below that are no parents of open ones, failed ones first; and how many there are in all."""
    rows = await tx.fetch(WAITED, of_tenant=tenant, root=parent.root_id, above=parent.thread_id, most=most)
    return [thread_doc.load(row["doc"]) for row in rows], rows[0]["total"] if rows else 0


def _member(row: Row) -> Member:
    doc: dict[str, Any] = orjson.loads(row["doc"])
    state = _STATE[row["state"]]
    return Member(
        row["id"],
        row["parent_id"],
        row["ordinal"],
        state,
        doc["title"],
        doc["parent_relationship"] == Relationship.SINGULAR,
        _shown(doc, state),
    )


def _shown(doc: dict[str, Any], state: State) -> Proposal | None:
    """What stands, else what was sent back and not replaced yet."""
    standing = doc["proposal"]
    if standing is None:
        return thread_doc.proposal_from(doc["prior_proposal"]) if state in _KEEPS_PRIOR else None
    return thread_doc.proposal_from(standing, doc.get("proposal_digest"))
