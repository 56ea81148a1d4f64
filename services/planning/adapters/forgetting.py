"""Forgets what only late facts could ask for: ends of turns that never began, sessions deleted long ago."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

from sqlalchemy import bindparam, delete

from services.kernel.clock import Clock
from services.kernel.postgres import Database, compiled
from services.planning.adapters.tables import DELETED, ENDED_TURNS

KEPT: Final = timedelta(days=30)
"""Facts can come for seven days, calls for as long as a caller repeats them."""
_ENDED = compiled(delete(ENDED_TURNS).where(ENDED_TURNS.c.ended_at < bindparam("before")))
_DELETED = compiled(delete(DELETED).where(DELETED.c.deleted_at < bindparam("before")))


async def forget_forever(database: Database, clock: Clock, every: timedelta) -> None:
    """A background duty."""
    while True:
        async with database.connection() as tx:
            for statement in (_ENDED, _DELETED):
                await tx.execute(statement, before=clock.now() - KEPT)
        await asyncio.sleep(every.total_seconds())
