"""Work on a workspace in one Postgres transaction; afterwards, whoever waits for what it wrote is woken."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from services.kernel import outbox
from services.kernel.ids import new_id
from services.kernel.postgres import Database, Tx
from services.planning.adapters import keeping, read_sql, removing, rows, turn_sql
from services.planning.adapters import workspace_sql as sql
from services.planning.adapters.branch_work import BranchWork
from services.planning.adapters.context_work import ContextWork
from services.planning.adapters.wake import Wake
from services.planning.application.work import Live, Restored, TurnRow
from services.planning.domain import errors, facts
from services.planning.domain.document import Document
from services.planning.domain.restore import Stretch
from services.planning.domain.snapshot import Shelved
from services.planning.domain.step import Steps
from services.planning.domain.workspace import USER, Workspace


class PostgresWork(BranchWork, ContextWork):
    """Fills `Work`. `facts`: whether any were written."""

    def __init__(self, tx: Tx) -> None:
        super().__init__(tx)
        self.facts = False

    async def reserve(self, tenant: str, session_id: str) -> None:
        """A row that is not there yet cannot be locked: its name is."""
        await self._tx.fetchval(sql.RESERVE, name=f"workspace {tenant} {session_id}")

    async def find(self, tenant: str, session_id: str, *, family: bool = False) -> Workspace | None:
        """FOR UPDATE: commands of one session stand in a line, in whatever process."""
        row = await self._tx.fetchrow(sql.LOCK, of_tenant=tenant, of_id=session_id)
        if row is None:
            return None
        found = rows.workspace_of(row)
        if family:
            await self._tx.fetchval(sql.SHARE_FAMILY, of_tenant=tenant, of_family=found.family)
        return found

    async def workspace(self, tenant: str, session_id: str, *, family: bool = False) -> Workspace:
        """Or NotFound."""
        found = await self.find(tenant, session_id, family=family)
        if found is None:
            raise errors.session_not_found(session_id)
        return found

    async def is_deleted(self, tenant: str, session_id: str) -> bool:
        """By its tombstone."""
        return await self._tx.fetchval(sql.IS_DELETED, of_tenant=tenant, of_id=session_id) is not None

    async def insert(self, made: Workspace, stretches: Sequence[Stretch]) -> None:
        """The family, where it begins here, the row, and which turns it has."""
        if made.family == made.session_id:
            await self._tx.execute(sql.MAKE_FAMILY, tenant=made.tenant, id=made.family)
        await self._tx.execute(sql.INSERT, **rows.workspace_values(made))
        of = {"tenant": made.tenant, "session_id": made.session_id, "family": made.family}
        for one in stretches:
            await self._tx.execute(sql.INSERT_STRETCH, **of, line=one.line, low=one.low, high=one.high)

    async def save(self, changed: Workspace) -> None:
        """Every column but the keys."""
        await self._tx.execute(sql.SAVE, **_of(changed), **rows.workspace_values(changed, sql.WORKSPACE_CHANGED))

    async def delete(self, workspace: Workspace, at: datetime) -> None:
        """See removing."""
        await removing.remove(self._tx, workspace, at)

    async def note_deleted(self, tenant: str, session_id: str, at: datetime) -> None:
        """Once."""
        await self._tx.execute(sql.TOMBSTONE, of_tenant=tenant, of_id=session_id, at=at)

    async def family_size(self, workspace: Workspace) -> int:
        """By the index. Branches of one family are counted one after the other: each session has its own row only."""
        await self._tx.fetchval(sql.RESERVE, name=f"branches {workspace.tenant} {workspace.family}")
        size: int = await self._tx.fetchval(sql.FAMILY_SIZE, of_tenant=workspace.tenant, of_family=workspace.family)
        return size

    async def stretches(self, workspace: Workspace) -> list[Stretch]:
        """From the first turn on."""
        found = await self._tx.fetch(sql.STRETCHES_OF, **_of(workspace))
        return [Stretch(row["line"], row["low"], row["high"]) for row in found]

    async def steps(self, workspace: Workspace) -> Steps:
        """By position."""
        return rows.steps_of(await self._tx.fetch(sql.STEPS_OF, **_of(workspace)))

    async def seen(self, tenant: str, session_id: str) -> Live:
        """One statement: plan and version are of one time."""
        row = await self._tx.fetchrow(read_sql.LIVE, of_tenant=tenant, of_id=session_id)
        if row is None:
            raise errors.session_not_found(session_id)
        return rows.live_of(row)

    async def write_steps(self, workspace: Workspace, before: Steps, after: Steps) -> None:
        """At most three statements, however many steps there are."""
        old = {step.id: (at, step) for at, step in enumerate(before)}
        ids = {step.id for step in after}
        gone = [step.id for step in before if step.id not in ids]
        added = [(at, step) for at, step in enumerate(after) if step.id not in old]
        changed = [(at, step) for at, step in enumerate(after) if step.id in old and old[step.id] != (at, step)]
        if gone:
            await self._tx.execute(sql.DELETE_STEPS, **_of(workspace), ids=gone)
        if changed:
            await self._tx.execute(sql.UPDATE_STEPS, **_of(workspace), **rows.step_arrays(changed))
        if added:
            await self._tx.execute(sql.INSERT_STEPS, **_of(workspace), **rows.step_arrays(added))

    async def documents(self, workspace: Workspace) -> list[Document]:
        """By position."""
        return [rows.document_of(row) for row in await self._tx.fetch(sql.DOCUMENTS_OF, **_of(workspace))]

    async def content(self, workspace: Workspace, key: str) -> str:
        """One document's."""
        content: str | None = await self._tx.fetchval(sql.CONTENT, **_of(workspace), of_key=key)
        if content is None:
            raise errors.document_not_found(key)
        return content

    async def put_document(self, workspace: Workspace, document: Document) -> None:
        """Insert or replace."""
        await self._tx.execute(sql.PUT_DOCUMENT, **_of(workspace), **rows.document_values(document))

    async def delete_document(self, workspace: Workspace, key: str) -> None:
        """The places of the others stay; so they may have gaps."""
        await self._tx.execute(sql.DELETE_DOCUMENT, **_of(workspace), of_key=key)

    async def lock_document(self, workspace: Workspace, document: Document) -> None:
        """The lock."""
        await self._tx.execute(
            sql.LOCK_DOCUMENT,
            **_of(workspace),
            of_key=document.key,
            locked=document.locked,
            version=document.version,
            updated_by=document.updated_by,
            updated_at=document.updated_at,
        )

    async def insert_documents(self, workspace: Workspace, shelf: Sequence[Shelved], at: datetime) -> None:
        """By their digests; those of old carry their contents along."""
        placed = [(position, one) for position, one in enumerate(shelf) if one.content is None]
        await self._tx.execute(
            sql.MAKE_DOCUMENTS,
            **_of(workspace),
            of_family=workspace.family,
            at=at,
            keys=[one.key for _, one in placed],
            positions=[position for position, _ in placed],
            sha256s=[one.sha256 for _, one in placed],
            lockeds=[one.locked for _, one in placed],
        )
        for position, one in enumerate(shelf):
            if one.content is not None:
                size = len(one.content.encode())
                document = Document(one.key, position, one.content, size, one.sha256, one.locked, 1, USER, at)
                await self._tx.execute(sql.MAKE_DOCUMENT, **_of(workspace), **rows.document_values(document))

    async def turn_of_id(self, tenant: str, turn_id: str) -> TurnRow | None:
        """Of any line."""
        row = await self._tx.fetchrow(turn_sql.TURN_OF_ID, of_tenant=tenant, of_turn=turn_id)
        return None if row is None else rows.turn_of(row)

    async def begin_turn(self, workspace: Workspace, steps: Steps, now: datetime) -> None:
        """See keeping."""
        await keeping.keep(self._tx, workspace, steps, now)

    async def end_turn(self, tenant: str, line: str, number: int, outcome: str, now: datetime) -> None:
        """Once; a superseded one learns its outcome."""
        await self._tx.execute(turn_sql.END_TURN, of_tenant=tenant, of_line=line, of_number=number, how=outcome, at=now)

    async def is_ended(self, tenant: str, session_id: str, turn_id: str) -> bool:
        """Heard of before."""
        found = await self._tx.fetchval(turn_sql.IS_ENDED, of_tenant=tenant, of_id=session_id, of_turn=turn_id)
        return found is not None

    async def note_ended(self, tenant: str, session_id: str, turn_id: str, at: datetime) -> None:
        """Once."""
        await self._tx.execute(turn_sql.NOTE_ENDED, of_tenant=tenant, of_id=session_id, of_turn=turn_id, at=at)

    async def branched(self, tenant: str, session_id: str, turn: int) -> Restored:
        """See keeping."""
        return await keeping.branched(self._tx, tenant, session_id, turn)

    async def fact(self, tenant: str, told: facts.Told, actor: str, now: datetime) -> None:
        """Thin: ids, versions, who and when."""
        event_id = new_id("evt")
        await outbox.enqueue(
            self._tx,
            tenant=tenant,
            scope=told.session_id,
            service="planning",
            type=facts.TYPE,
            event_id=event_id,
            payload=facts.payload(told, event_id, actor, now),
        )
        self.facts = True


class PostgresWorkshop:
    """Fills `Workshop`."""

    def __init__(self, database: Database, wake: Wake) -> None:
        self._database = database
        self._wake = wake

    @asynccontextmanager
    async def work(self) -> AsyncIterator[PostgresWork]:
        """One transaction, then the pings."""
        async with self._database.transaction() as tx:
            work = PostgresWork(tx)
            yield work
        await self._wake.committed(facts=work.facts)


def _of(workspace: Workspace) -> dict[str, str]:
    return {"of_tenant": workspace.tenant, "of_id": workspace.session_id}
