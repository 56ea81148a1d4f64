"""The statements behind ListThreads: roots, children, what a session proposed, what a search finds; newest first."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Boolean, DateTime, Text, and_, any_, bindparam, false, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY

from services.kernel.postgres import Row, Tx, compiled
from services.threads.adapters.family_tables import LIVE
from services.threads.adapters.items import WITH_ITEMS
from services.threads.adapters.search import MATCHES, SEARCH, looked_for
from services.threads.adapters.tables import NOT_DEFERRED, THREADS
from services.threads.application.ports import ThreadFilter

_t: Final = THREADS.c
_TENANT = _t.tenant == bindparam("of_tenant")
_STATES = or_(
    func.cardinality(bindparam("states", type_=ARRAY(Text))) == 0,
    _t.state == any_(bindparam("states", type_=ARRAY(Text))),
)
_BEFORE = or_(bindparam("before", type_=Text).is_(None), _t.id < bindparam("before", type_=Text))
_URGENCY = or_(bindparam("urgency", type_=Text) == "", _t.doc.op("->>")("urgency") == bindparam("urgency", type_=Text))
_SHOWN = or_(bindparam("hide_later", type_=Boolean) == false(), NOT_DEFERRED)
_THEN = bindparam("open_at", type_=DateTime(timezone=True))
# An end stays, so that it is where the thread is since then.
_OPEN = or_(_THEN.is_(None), and_(_t.create_time <= _THEN, or_(LIVE, _t.since > _THEN)))
_SESSION = bindparam("session", type_=Text)
_WANTED = and_(_TENANT, _STATES, _BEFORE, _URGENCY, _SHOWN, _OPEN)
_UNDER = or_(bindparam("parent", type_=Text).is_(None), _t.parent_id == bindparam("parent", type_=Text))
_ROOTS = compiled(
    select(_t.doc, WITH_ITEMS).where(_WANTED, _t.parent_id.is_(None)).order_by(_t.id.desc()).limit(bindparam("most"))
)
_CHILDREN = compiled(
    select(_t.doc, WITH_ITEMS)
    .where(_WANTED, _t.parent_id == bindparam("parent"))
    .order_by(_t.id.desc())
    .limit(bindparam("most"))
)
_FOUND = compiled(
    select(_t.doc, WITH_ITEMS)
    .join(SEARCH, and_(SEARCH.c.tenant == _t.tenant, SEARCH.c.thread_id == _t.id))
    .where(_WANTED, _UNDER, MATCHES, or_(_SESSION == "", _t.session_id == _SESSION))
    .order_by(_t.id.desc())
    .limit(bindparam("most"))
)
_PROPOSED = compiled(
    select(_t.doc, WITH_ITEMS)
    .where(_WANTED, _UNDER, _t.session_id == _SESSION)
    .order_by(_t.id.desc())
    .limit(bindparam("most"))
)


async def rows_of(tx: Tx, wanted: ThreadFilter, now: datetime, before_id: str | None, most: int) -> list[Row]:
    """A page. A search without a word in it finds nothing."""
    bounds: dict[str, Any] = {
        "of_tenant": wanted.tenant,
        "states": list(wanted.states),
        "before": before_id,
        "urgency": wanted.urgency,
        "hide_later": wanted.hide_later,
        "now": now,
        "open_at": wanted.open_at,
        "most": most,
    }
    if wanted.said is not None:
        query = looked_for(wanted.said)
        if not query:
            return []
        under = {"parent": wanted.parent_id, "session": wanted.session_id}
        return await tx.fetch(_FOUND, **bounds, **under, looked_for=query)
    if wanted.session_id:
        return await tx.fetch(_PROPOSED, **bounds, parent=wanted.parent_id, session=wanted.session_id)
    if wanted.parent_id is None:
        return await tx.fetch(_ROOTS, **bounds)
    return await tx.fetch(_CHILDREN, **bounds, parent=wanted.parent_id)
