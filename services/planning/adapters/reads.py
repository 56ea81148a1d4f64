"""The read side on Postgres: a statement a question, or one snapshot for several."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest

from services.kernel.postgres import Database, Row, Tx
from services.planning.adapters import branch_sql, context_sql, graph_sql, keeping, rows, workspace_sql
from services.planning.adapters import read_sql as sql
from services.planning.application.ports import Graph, GraphPlace, Head, Node, TurnSeen
from services.planning.application.work import Live, Restored
from services.planning.domain.branch import Branch
from services.planning.domain.context import Context
from services.planning.domain.document import Document
from services.planning.domain.errors import document_not_found, session_not_found
from services.planning.domain.numbering import Progress, progress_of
from services.planning.domain.restore import TurnMark, restorable

_LONG_AGO = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class PostgresReads:
    """Fills `Reads`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def live(self, tenant: str, session_id: str) -> Live:
        """One statement: plan and version are of one time."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(sql.LIVE, of_tenant=tenant, of_id=session_id)
        if row is None:
            raise session_not_found(session_id)
        return rows.live_of(row)

    async def pair(self, tenant: str, session_id: str, other_id: str) -> tuple[Live, Live]:
        """One statement."""
        async with self._database.connection() as tx:
            found = await tx.fetch(sql.PAIR, of_tenant=tenant, of_id=session_id, of_other=other_id)
        by_id = {row["session_id"]: rows.live_of(row) for row in found}
        for one in (session_id, other_id):
            if one not in by_id:
                raise session_not_found(one)
        return by_id[session_id], by_id[other_id]

    async def restored(self, tenant: str, session_id: str, turn: int) -> Restored:
        """Two statements over one snapshot."""
        async with self._database.transaction(read_snapshot=True) as tx:
            return await keeping.restored(tx, tenant, session_id, turn)

    async def documents(self, tenant: str, session_id: str) -> list[Document]:
        """Without contents."""
        async with self._database.connection() as tx:
            await _family(tx, tenant, session_id)
            found = await tx.fetch(workspace_sql.DOCUMENTS_OF, of_tenant=tenant, of_id=session_id)
        return [rows.document_of(row) for row in found]

    async def document(self, tenant: str, session_id: str, key: str) -> Document:
        """With its content."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(sql.DOCUMENT, of_tenant=tenant, of_id=session_id, of_key=key)
            if row is None:
                await _family(tx, tenant, session_id)
                raise document_not_found(key)
        return rows.document_of(row, row["content"])

    async def turns(self, tenant: str, session_id: str, after: int, size: int) -> list[TurnSeen]:
        """One more is read than is asked for: whether a turn can be gone on from stands in its successor."""
        async with self._database.connection() as tx:
            await _family(tx, tenant, session_id)
            found = await tx.fetch(sql.TURNS_OF, of_tenant=tenant, of_id=session_id, after=after, most=size + 1)
        turns = [rows.turn_of(row) for row in found]
        marks = [TurnMark(one.number, one.running, one.kept) for one in turns]
        seen = [
            TurnSeen(turn, restorable(mark, following))
            for turn, mark, following in zip_longest(turns, marks, marks[1:])
        ]
        return seen[:size]

    async def told(self, tenant: str, session_id: str, turn: int, turn_id: str) -> Context | None:
        """One statement."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(
                context_sql.TOLD, of_tenant=tenant, of_id=session_id, of_number=turn, of_turn=turn_id
            )
            if row is None:
                await _family(tx, tenant, session_id)
        return None if row is None else context_sql.context_of(row)

    async def branch(self, tenant: str, session_id: str) -> Branch | None:
        """The record."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(branch_sql.FIND, of_tenant=tenant, of_id=session_id)
        return None if row is None else rows.branch_of(row)

    async def branches(
        self, tenant: str, origin_id: str, after: tuple[datetime, str] | None, size: int
    ) -> list[Branch]:
        """By time."""
        time, last = after or (_LONG_AGO, "")
        async with self._database.connection() as tx:
            await _family(tx, tenant, origin_id)
            found = await tx.fetch(
                branch_sql.PAGE, of_tenant=tenant, of_id=origin_id, after_time=time, after_id=last, most=size
            )
        return [rows.branch_of(row) for row in found]

    async def graph(self, tenant: str, session_id: str, after: GraphPlace | None, size: int) -> Graph:
        """Nodes and heads over one snapshot."""
        async with self._database.transaction(read_snapshot=True) as tx:
            of = {"of_tenant": tenant, "of_family": await _family(tx, tenant, session_id)}
            heads = [_head(row) for row in await tx.fetch(graph_sql.HEADS, **of)]
            if after is None:
                found = await tx.fetch(graph_sql.FIRST_NODES, **of, most=size + 1)
            else:
                found = await tx.fetch(
                    graph_sql.NEXT_NODES, **of, after_time=after.begun_at, after_id=after.turn_id, most=size + 1
                )
        by_id = {head.workspace.session_id: head for head in heads}
        return Graph([_node(row, by_id) for row in found[:size]], heads, len(found) > size)


async def _family(tx: Tx, tenant: str, session_id: str) -> str:
    family: str | None = await tx.fetchval(sql.EXISTS, of_tenant=tenant, of_id=session_id)
    if family is None:
        raise session_not_found(session_id)
    return family


def _head(row: Row) -> Head:
    shape: Sequence[tuple[int, bool]] = row["shape"]
    return Head(rows.workspace_of(row), row["fork_turn_id"], progress_of(shape))


def _node(row: Row, heads: dict[str, Head]) -> Node:
    """What going on from the node begins with: what the next turn kept, or what the session at its end is now."""
    turn = rows.turn_of(row)
    mark = TurnMark(turn.number, turn.running, turn.kept)
    if row["next_kept"] is not None:
        following = TurnMark(turn.number + 1, False, row["next_kept"])
        done = Progress(row["next_leaves"], row["next_done_leaves"])
        can = restorable(mark, following)
        return Node(turn, row["parent_turn_id"], row["holder"], can, row["next_objective"], done)
    head = heads.get(row["holder"])
    if head is None or head.workspace.turn != turn.number:
        return Node(turn, row["parent_turn_id"], row["holder"], head is not None, "", Progress(0, 0))
    can = restorable(mark, None)
    return Node(turn, row["parent_turn_id"], row["holder"], can, head.workspace.objective, head.progress)
