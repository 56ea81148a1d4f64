"""The statements behind ListInbox: what waits for a person, by rank (design/threads.md, section 0.12)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import DateTime, Text, TextClause, and_, bindparam, func, or_, select, text, tuple_

from services.kernel.postgres import compiled
from services.threads.adapters.items import WITH_ITEMS
from services.threads.adapters.tables import NOT_DEFERRED, THREADS
from services.threads.domain.states import WAIT

_t: Final = THREADS.c
_PLAIN: Final = DateTime()
_WAITING: TextClause = text(f"threads.state IN ({', '.join(repr(state.value) for state in sorted(WAIT))})")
"""Literals: with parameters the planner could not tell that the partial index holds all of these rows."""
_INBOX = and_(_t.tenant == bindparam("of_tenant"), _WAITING, NOT_DEFERRED)
INBOX = compiled(
    select(_t.doc, WITH_ITEMS)
    .where(
        _INBOX,
        or_(
            bindparam("after_time", type_=_PLAIN).is_(None),
            tuple_(_t.inbox_at, _t.id)
            > tuple_(bindparam("after_time", type_=_PLAIN), bindparam("after_id", type_=Text)),
        ),
    )
    .order_by(_t.inbox_at, _t.id)
    .limit(bindparam("most"))
)
INBOX_SIZE = compiled(select(func.count()).select_from(THREADS).where(_INBOX))
