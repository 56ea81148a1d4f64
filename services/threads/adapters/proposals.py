"""How many proposals of a session are open: counted by one transaction at a time."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Text, bindparam, func, select

from services.kernel.postgres import Tx, compiled
from services.threads.adapters.family_tables import LIVE
from services.threads.adapters.tables import THREADS

_t: Final = THREADS.c
_IN_LINE = compiled(select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("line", type_=Text), 0))))
_OPEN = compiled(
    select(func.count())
    .select_from(THREADS)
    .where(_t.tenant == bindparam("of_tenant"), _t.session_id == bindparam("of_session"), LIVE)
)


async def open_proposals(tx: Tx, tenant: str, session_id: str) -> int:
    """In a line with the others of the session, which is left when the transaction ends."""
    await tx.execute(_IN_LINE, line=f"proposals {tenant} {session_id}")
    count: int = await tx.fetchval(_OPEN, of_tenant=tenant, of_session=session_id)
    return count
