"""What agents are told, inside a transaction."""

from __future__ import annotations

from services.kernel.postgres import Tx
from services.planning.adapters import context_sql as sql
from services.planning.adapters import turn_sql
from services.planning.domain.context import Context
from services.planning.domain.workspace import Workspace


class ContextWork:
    """The part of `Work` that is about what agents are told."""

    _tx: Tx

    async def told(self, workspace: Workspace, turn_id: str) -> Context | None:
        """Of its own line."""
        of = {"of_tenant": workspace.tenant, "of_id": workspace.session_id}
        row = await self._tx.fetchrow(sql.TOLD_IN, **of, of_turn=turn_id)
        return None if row is None else sql.context_of(row)

    async def tell(self, workspace: Workspace, context: Context) -> None:
        """The text as a blob of the family, its digest with the turn."""
        of_family = {"of_tenant": workspace.tenant, "of_family": workspace.family}
        await self._tx.execute(turn_sql.KEEP, **of_family, digests=[context.sha256], datas=[context.text.encode()])
        await self._tx.execute(
            sql.TELL,
            of_tenant=workspace.tenant,
            of_id=workspace.session_id,
            of_turn=context.turn_id,
            digest=context.sha256,
            version=context.version,
            at=context.told_at,
        )
