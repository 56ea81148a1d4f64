"""A workspace goes, and with it what its family kept that nobody stands on any more (C6: its branches stay)."""

from __future__ import annotations

from datetime import datetime

from services.kernel.postgres import Tx
from services.planning.adapters import branch_sql, sweep_sql
from services.planning.adapters import workspace_sql as sql
from services.planning.domain.workspace import Workspace


async def remove(tx: Tx, workspace: Workspace, at: datetime) -> None:
    """The row is locked. Its steps, documents and stretches go by cascade; turns and blobs while nobody else of the
    family relies on them, which the lock of the family's row makes sure of."""
    of = {"of_tenant": workspace.tenant, "of_id": workspace.session_id}
    of_family = {"of_tenant": workspace.tenant, "of_family": workspace.family}
    await tx.execute(sql.TOMBSTONE, **of, at=at)
    # Its branches' rows before the family's: who holds one of them may be waiting for the family.
    await tx.execute(sql.ORPHAN, **of, of_family=workspace.family)
    await tx.execute(branch_sql.ORPHAN, **of)
    await tx.execute(branch_sql.FORGET_FAILED, **of)
    await tx.execute(sql.DELETE, **of)
    await tx.fetchval(sql.LOCK_FAMILY, **of_family)
    await tx.execute(sweep_sql.SWEEP_TURNS, **of_family)
    await tx.execute(sweep_sql.SWEEP_BLOBS, **of_family)
    await tx.execute(sweep_sql.DELETE_FAMILY, **of_family)
