"""What a turn keeps of a workspace and how it is read again: immutable blobs, a digest each (P.2)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from services.kernel.ids import new_id
from services.kernel.postgres import Row, Statement, Tx
from services.planning.adapters import restore_sql, workspace_sql
from services.planning.adapters import turn_sql as sql
from services.planning.adapters.rows import steps_of_json, workspace_of
from services.planning.application.work import Restored
from services.planning.domain import snapshot as kept
from services.planning.domain.errors import session_not_found
from services.planning.domain.numbering import progress
from services.planning.domain.restore import TurnMark, resolve
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
    row = await _located(tx, restore_sql.RESTORED, tenant, session_id, turn)
    shelf = _shelf(row)
    texts = {one.sha256: one.content for one in shelf if one.content is not None}
    blobs = await _blobs(tx, row, {one.sha256 for one in shelf} - set(texts))
    texts |= {digest: data.decode() for digest, data in blobs.items()}
    documents = [KeptDocument(one.key, texts[one.sha256], one.locked) for one in shelf]
    return _restored(row, turn, blobs, shelf, documents)


async def branched(tx: Tx, tenant: str, session_id: str, turn: int) -> Restored:
    """As `restored`, without the contents of documents: those of the live workspace are kept now, if they are not."""
    row = await _located(tx, restore_sql.RESTORED_WITHOUT_CONTENTS, tenant, session_id, turn)
    if row["next_number"] is None:
        of = {"of_tenant": tenant, "of_id": session_id, "of_family": row["family"]}
        await tx.execute(sql.KEEP_CONTENTS, **of)
    return _restored(row, turn, await _blobs(tx, row, set()), _shelf(row), ())


async def _located(tx: Tx, statement: Statement, tenant: str, session_id: str, turn: int) -> Row:
    row = await tx.fetchrow(statement, of_tenant=tenant, of_id=session_id, of_turn=turn)
    if row is None:
        raise session_not_found(session_id)
    resolve(turn, _mark(row, "this"), _mark(row, "next"))
    return row


def _shelf(row: Row) -> tuple[Shelved, ...]:
    if row["next_number"] is None:
        return tuple(Shelved(*one) for one in row["live_documents"])
    return kept.read_documents(row["shelf"])


async def _blobs(tx: Tx, row: Row, documents: set[str]) -> dict[str, bytes]:
    """What the next turn kept: objective and plan, and these documents (of the live workspace, only those)."""
    wanted = {*documents, row["next_objective"] or "", row["next_plan"] or ""} - {""}
    if not wanted:
        return {}
    of_family = {"of_tenant": row["tenant"], "of_family": row["family"]}
    return {one["sha256"]: one["data"] for one in await tx.fetch(sql.BLOBS_OF, **of_family, digests=sorted(wanted))}


def _restored(
    row: Row, turn: int, blobs: dict[str, bytes], shelf: tuple[Shelved, ...], documents: Sequence[KeptDocument]
) -> Restored:
    workspace, live = workspace_of(row), row["next_number"] is None
    if live:
        steps = steps_of_json(row["live_steps"])
        snapshot = capture(workspace.objective, steps, documents)
    else:
        objective = blobs.get(row["next_objective"], b"").decode()
        snapshot = Snapshot(objective, kept.read_todos(blobs.get(row["next_plan"]), new_id), tuple(documents))
        steps = kept.materialise(snapshot, lambda _: "")
    return Restored(workspace, turn, row["this_turn_id"] or "", live, snapshot, steps, shelf)


def _mark(row: Row, name: str) -> TurnMark | None:
    number = row[f"{name}_number"]
    return None if number is None else TurnMark(number, row[f"{name}_running"], row[f"{name}_kept"])
