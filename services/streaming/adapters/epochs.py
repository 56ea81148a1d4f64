"""The counter of DOMAIN's epochs: a stream that was lost and made anew is never taken for the old one."""

from __future__ import annotations

from sqlalchemy.dialects.postgresql import insert

from services.kernel.postgres import Database, compiled
from services.streaming.adapters.tables import COUNTERS

_COUNT = compiled(
    insert(COUNTERS)
    .values(name="domain_epoch", value=1)
    .on_conflict_do_update(index_elements=[COUNTERS.c.name], set_={"value": COUNTERS.c.value + 1})
    .returning(COUNTERS.c.value)
)


async def next_epoch(database: Database) -> int:
    """A number that was never given before (those of lost races are skipped)."""
    async with database.connection() as tx:
        return int(await tx.fetchval(_COUNT))
