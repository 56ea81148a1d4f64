"""Empties tables between the examples of one test, while the services' background duties go on reading them."""

from __future__ import annotations

import asyncio

from services.kernel.errors import Conflict
from services.kernel.postgres import Database

_PATIENCE = 60.0


async def emptied(database: Database, *tables: str) -> None:
    """TRUNCATE … CASCADE needs every lock on all of them at once: it waits for others, an autovacuum too, and is told
    to try again when it and they waited for each other."""
    async with asyncio.timeout(_PATIENCE):
        while True:
            try:
                async with database.transaction() as tx:
                    await tx.raw.execute(f"TRUNCATE {', '.join(tables)} CASCADE")
            except Conflict:
                await asyncio.sleep(0.05)
            else:
                return
