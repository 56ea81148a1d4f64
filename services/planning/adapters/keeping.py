"""What a turn keeps of a workspace and how it is read again: immutable blobs, a digest each (P.2)."""

from __future__ import annotations

from datetime import datetime

from services.kernel.ids import new_id
from services.kernel.postgres import Row, Tx
from services.planning.adapters import turn_sql as sql
from services.planning.adapters import workspace_sql
from services.planning.adapters.rows import steps_of_json, workspace_of
from services.planning.application.work import Restored
from services.planning.domain import snapshot as kept
from services.planning.domain.errors import session_not_found
from services.planning.domain.numbering import progress
from services.planning.domain.restore import Live, TurnMark, resolve
from services.planning.domain.snapshot import KeptDocument, Shelved, Snapshot, capture, sha256
from services.planning.domain.step import Steps
from services.planning.domain.workspace import Workspace


async def keep(tx: Tx, workspace: Workspace, steps: Steps, now: datetime) -> None:
    """Inserts the newest turn with what the workspace is now. Contents of documents do not leave the database."""
    of = {"of_tenant": workspace.tenant, "of_id": workspace.session_id}
    rows = await tx.fetch(workspace_sql.DOCUMENTS_OF, **of)
    parts = {
        "objective": workspace.objective.encode(),
        "plan": kept.todos_json(steps),
        "documents": kept.documents_json(Shelved(row["key"], row["sha256"], row["locked"]) for row in rows),
    }
    digests = {name: sha256(data) if data else "" for name, data in parts.items()}
    datas = {digests[name]: data for name, data in parts.items() if data}
    of_family = {"of_tenant": workspace.tenant, "of_family": workspace.family}
    await tx.execute(sql.KEEP, **of_family, digests=list(datas), datas=list(datas.values()))
    if rows:
        await tx.execute(sql.KEEP_CONTENTS, **of, of_family=workspace.family)
    done = progress(steps)
    await tx.execute(
        sql.INSERT_TURN,
        tenant=workspace.tenant,
        family=workspace.family,
        line=workspace.session_id,
        number=workspace.turn,
        turn_id=workspace.turn_id,
        leaves=done.leaves,
        done_leaves=done.done,
        begun_at=now,
        **digests,
    )


async def restored(tx: Tx, tenant: str, session_id: str, turn: int) -> Restored:
    """Two queries, whatever the turn: where it is, and what it says. Inside one transaction (C2)."""
    row = await tx.fetchrow(sql.RESTORED, of_tenant=tenant, of_id=session_id, of_turn=turn)
    if row is None:
        raise session_not_found(session_id)
    workspace = workspace_of(row)
    found = resolve(turn, _mark(row, "this"), _mark(row, "next"))
    turn_id = row["this_turn_id"] or ""
    if isinstance(found, Live):
        documents = [KeptDocument(*one) for one in row["live_documents"]]
        steps = steps_of_json(row["live_steps"])
        return Restored(workspace, turn, turn_id, True, capture(workspace.objective, steps, documents), steps)
    shelf = kept.read_documents(row["shelf"])
    texts = {one.sha256: one.content.encode() for one in shelf if one.content is not None}
    wanted = {row["next_objective"], row["next_plan"], *(one.sha256 for one in shelf)} - {"", *texts}
    blobs = await tx.fetch(sql.BLOBS_OF, of_tenant=tenant, of_family=workspace.family, digests=sorted(wanted))
    texts |= {blob["sha256"]: blob["data"] for blob in blobs}
    snapshot = Snapshot(
        texts.get(row["next_objective"], b"").decode(),
        kept.read_todos(texts.get(row["next_plan"]), new_id),
        tuple(KeptDocument(one.key, texts[one.sha256].decode(), one.locked) for one in shelf),
    )
    return Restored(workspace, turn, turn_id, False, snapshot, kept.materialise(snapshot, lambda _: ""))


def _mark(row: Row, name: str) -> TurnMark | None:
    number = row[f"{name}_number"]
    return None if number is None else TurnMark(number, row[f"{name}_running"], row[f"{name}_kept"])
