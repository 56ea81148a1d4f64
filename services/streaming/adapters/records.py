"""Turns, gates, the ledger and messages, read from Postgres."""

from __future__ import annotations

from services.kernel.postgres import Database
from services.streaming.adapters import gate_rows, shared_rows, turn_rows
from services.streaming.adapters.postgres import session_in
from services.streaming.application.ports import SessionKey
from services.streaming.application.records import Entry, Message
from services.streaming.application.work import Turn
from services.streaming.domain.errors import turn_not_found
from services.streaming.domain.gates import Gate, GateState
from services.streaming.domain.session import Session


class PostgresRecords:
    """Fills `Records`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def gates(self, key: SessionKey, state: GateState | None, before: str, size: int) -> tuple[list[Gate], bool]:
        """Newest first."""
        async with self._database.connection() as tx:
            return await gate_rows.page_of_gates(tx, _of(key), state, before, size)

    async def gate(self, key: SessionKey, gate_id: str) -> Gate | None:
        """By id."""
        async with self._database.connection() as tx:
            return await gate_rows.gate(tx, _of(key), gate_id)

    async def ledger(self, key: SessionKey, after: int, size: int) -> tuple[list[Entry], Entry | None, bool]:
        """One snapshot."""
        async with self._database.transaction(read_snapshot=True) as tx:
            rows, newest, more = await gate_rows.entries(tx, _of(key), after, size)
        return [Entry(*row) for row in rows], None if newest is None else Entry(*newest), more

    async def turn(self, key: SessionKey, turn_id: str) -> tuple[Session, Turn]:
        """One snapshot."""
        async with self._database.transaction(read_snapshot=True) as tx:
            session = await session_in(tx, key)
            wanted = turn_id or session.turn_id
            turn = await turn_rows.find(tx, _of(key), wanted)
            if turn is None and wanted:
                turn = await shared_rows.shared_turn(tx, key, wanted)
        if turn is None:
            raise turn_not_found()
        return session, turn

    async def messages(self, key: SessionKey, turn_id: str, after: int, size: int) -> tuple[list[Message], bool]:
        """Oldest first."""
        async with self._database.connection() as tx:
            rows, more = await shared_rows.page_of_messages(tx, key, turn_id, after, size)
        return [Message(*row.values()) for row in rows], more


def _of(key: SessionKey) -> dict[str, str]:
    return {"of_tenant": key.tenant, "of_id": key.session}
