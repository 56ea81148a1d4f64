"""Rows that say what planning has still to hear: turns that start, sessions whose workspace is wanted."""

from __future__ import annotations

from sqlalchemy import bindparam, false, select, update

from services.kernel.postgres import Database, compiled
from services.streaming.adapters import turn_rows
from services.streaming.adapters.tables import SESSIONS
from services.streaming.application.ports import SessionKey

_s = SESSIONS.c
_WANTED = compiled(
    select(_s.tenant, _s.id)
    .where(_s.workspace_wanted, _s.deleted_at.is_(None))
    .order_by(_s.created_at)
    .limit(bindparam("most"))
)
_MADE = compiled(
    update(SESSIONS)
    .where(_s.tenant == bindparam("of_tenant"), _s.id == bindparam("of_id"), _s.workspace_wanted)
    .values(workspace_wanted=false())
)


class PostgresPlanRows:
    """Fills `Starts` and `Workspaces`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def stale(self, most: int) -> list[tuple[SessionKey, str]]:
        """By the database's clock."""
        async with self._database.connection() as tx:
            rows = await turn_rows.stale(tx, most)
        return [(SessionKey(row["tenant"], row["session_id"]), row["id"]) for row in rows]

    async def wanted(self, most: int) -> list[SessionKey]:
        """Oldest first."""
        async with self._database.connection() as tx:
            return [SessionKey(row["tenant"], row["id"]) for row in await tx.fetch(_WANTED, most=most)]

    async def made(self, key: SessionKey) -> None:
        """Nothing that a reader sees has changed."""
        async with self._database.connection() as tx:
            await tx.execute(_MADE, of_tenant=key.tenant, of_id=key.session)
