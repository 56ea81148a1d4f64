"""The sagas of branches inside a transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from services.kernel.keyed_work import KeyedWork
from services.planning.adapters import branch_sql as sql
from services.planning.adapters.rows import branch_of, branch_values
from services.planning.domain.branch import LEASE, Branch


class BranchWork(KeyedWork):
    """The part of `Work` that is about branches."""

    async def add_branch(self, branch: Branch) -> None:
        """A new record."""
        await self._tx.execute(sql.ADD, **branch_values(branch))

    async def branch(self, tenant: str, session_id: str) -> Branch | None:
        """FOR UPDATE."""
        row = await self._tx.fetchrow(sql.LOCK, of_tenant=tenant, of_id=session_id)
        return None if row is None else branch_of(row)

    async def save_branch(self, branch: Branch) -> None:
        """What changes."""
        await self._tx.execute(
            sql.SAVE,
            of_tenant=branch.tenant,
            of_id=branch.session_id,
            origin_id=branch.origin_id,
            state=branch.state,
            reason=branch.reason,
            attempts=branch.attempts,
            due_at=branch.due_at,
        )

    async def drop_branch(self, tenant: str, session_id: str) -> None:
        """Of a branch that was deleted."""
        await self._tx.execute(sql.DROP, of_tenant=tenant, of_id=session_id)

    async def due_branch(self, now: datetime) -> Branch | None:
        """Taken: nobody else finds it for LEASE."""
        row = await self._tx.fetchrow(sql.DUE, now=now)
        if row is None:
            return None
        taken = replace(branch_of(row), due_at=now + LEASE)
        await self.save_branch(taken)
        return taken
