"""What was deleted goes, but for what branches share: a deleted session that is some branch's line keeps its row, and
of its turns, messages and agent's states those that are shared. When the last branch goes, so do they."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Text, bindparam, delete, func, select, update

from services.kernel.postgres import Tx, compiled
from services.streaming.adapters import state_rows
from services.streaming.adapters.tables import SESSION_OUTBOX, SESSIONS
from services.streaming.adapters.turn_tables import COMMANDS, GATES, LEDGER, MESSAGES, STRETCHES, TURNS
from services.streaming.application.ports import SessionKey

_s, _t, _m, _p = SESSIONS.c, TURNS.c, MESSAGES.c, STRETCHES.c
_MINE = (_s.tenant == bindparam("of_tenant")) & (_s.id == bindparam("of_id"))


def _of_session(columns: Any) -> Any:
    return (columns.tenant == bindparam("of_tenant")) & (columns.session_id == bindparam("of_id"))


_line = bindparam("line", type_=Text)
_IN_LINE = compiled(select(func.pg_advisory_xact_lock(func.hashtextextended(_line, 0))))
_NOT_MEANWHILE = compiled(select(func.pg_advisory_xact_lock_shared(func.hashtextextended(_line, 0))))
_PURGED = compiled(
    update(SESSIONS)
    .where(_MINE, _s.deleted_at.is_not(None), _s.purged_at.is_(None))
    .values(purged_at=func.now())
    .returning(_s.id)
)
_NEVER_SHARED: Final = tuple(
    compiled(delete(table).where(_of_session(table.c))) for table in (GATES, LEDGER, COMMANDS, SESSION_OUTBOX)
)
_SHARES_NO_MORE = compiled(delete(STRETCHES).where(_of_session(_p)).returning(_p.line))
_SHARED = compiled(
    select(func.max(_p.high).label("high"), func.max(_p.messages).label("messages")).where(
        _p.tenant == bindparam("of_tenant"), _p.line == bindparam("of_id")
    )
)
_IS_PURGED = compiled(select(_s.id).where(_MINE, _s.purged_at.is_not(None)))
_CUT_TURNS = compiled(delete(TURNS).where(_of_session(_t), (_t.number > bindparam("high")) | (_t.number == 0)))
_CUT_MESSAGES = compiled(delete(MESSAGES).where(_of_session(_m), _m.sequence > bindparam("messages")))
_FORGET = compiled(delete(SESSIONS).where(_MINE))


async def not_meanwhile(tx: Tx, tenant: str) -> None:
    """No session of the tenant is purged until this transaction ends."""
    await tx.fetchval(_NOT_MEANWHILE, line=_queue(tenant))


async def purge(tx: Tx, key: SessionKey) -> None:
    """The deleted session; and of what it shared what nobody needs any more. Purges of one tenant stand in a line: of
    two that are the last to need something, the second one sees that it is."""
    await tx.fetchval(_IN_LINE, line=_queue(key.tenant))
    of = {"of_tenant": key.tenant, "of_id": key.session}
    if await tx.fetchval(_PURGED, **of) is None:
        return
    for statement in _NEVER_SHARED:
        await tx.execute(statement, **of)
    lines = [row["line"] for row in await tx.fetch(_SHARES_NO_MORE, **of)]
    for line in (key.session, *lines):
        await _trim(tx, key.tenant, line)


async def _trim(tx: Tx, tenant: str, line: str) -> None:
    """Of a purged session, what no branch shares."""
    of = {"of_tenant": tenant, "of_id": line}
    if await tx.fetchval(_IS_PURGED, **of) is None:
        return
    shared = await tx.fetchrow(_SHARED, **of)
    assert shared is not None, "an aggregate has a row"
    await tx.execute(_CUT_TURNS, **of, high=shared["high"] or 0)
    await tx.execute(_CUT_MESSAGES, **of, messages=shared["messages"] or 0)
    await state_rows.hand_over(tx, tenant, line)
    if shared["high"] is None:
        await tx.execute(_FORGET, **of)


def _queue(tenant: str) -> str:
    return f"streaming.purge.{tenant}"
