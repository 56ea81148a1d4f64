"""The raw limit of a command: the very statements that its handler runs, with the very arguments, and no service
around them.

`RecordingDatabase` is the kernel's Database, except that it notes every transaction. The handlers run once on one
copy of a database; what was noted is then replayed on other copies in the same state. Same SQL texts, same round
trips, same rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from services.kernel.postgres import Database, Row, Statement, Tx

Steps = list[tuple[str, str, list[Any]]]
"""(method of asyncpg's Connection, SQL, arguments) of one transaction, in order."""


@dataclass(slots=True)
class Recording:
    """What was noted: a list of steps a transaction."""

    transactions: list[Steps] = field(default_factory=list)


class _RecordingTx(Tx):
    __slots__ = ("_steps",)

    def __init__(self, raw: Any, steps: Steps) -> None:
        super().__init__(raw)
        self._steps = steps

    async def fetch(self, statement: Statement, **values: Any) -> list[Row]:
        self._steps.append(("fetch", statement.text, statement.arguments(values)))
        return await super().fetch(statement, **values)

    async def fetchrow(self, statement: Statement, **values: Any) -> Row | None:
        self._steps.append(("fetchrow", statement.text, statement.arguments(values)))
        return await super().fetchrow(statement, **values)

    async def fetchval(self, statement: Statement, **values: Any) -> Any:
        self._steps.append(("fetchval", statement.text, statement.arguments(values)))
        return await super().fetchval(statement, **values)

    async def execute(self, statement: Statement, **values: Any) -> int:
        self._steps.append(("execute", statement.text, statement.arguments(values)))
        return await super().execute(statement, **values)

    async def executemany(self, statement: Statement, rows: Iterable[Mapping[str, Any]]) -> None:
        kept = list(rows)
        self._steps.append(("executemany", statement.text, [[statement.arguments(row) for row in kept]]))
        await super().executemany(statement, kept)


class RecordingDatabase(Database):
    """A Database that notes every transaction that commits."""

    def __init__(self, pool: asyncpg.Pool[Row]) -> None:
        super().__init__(pool)
        self.recording = Recording()

    @asynccontextmanager
    async def transaction(self, *, read_snapshot: bool = False) -> AsyncIterator[Tx]:
        """As Database.transaction."""
        steps: Steps = []
        async with super().transaction(read_snapshot=read_snapshot) as tx:
            yield _RecordingTx(tx.raw, steps)
        self.recording.transactions.append(steps)


@asynccontextmanager
async def recording_database(url: str) -> AsyncIterator[RecordingDatabase]:
    """One that is open while the context is."""
    database = await RecordingDatabase.open(url, "bench recording")
    assert isinstance(database, RecordingDatabase)
    try:
        yield database
    finally:
        await database.close()


class Replay:
    """A pool of the kernel's own making, and transactions run on it with nothing around."""

    def __init__(self, pool: asyncpg.Pool[Row]) -> None:
        self._pool = pool

    async def run(self, steps: Steps) -> None:
        """One transaction."""
        async with self._pool.acquire() as connection, connection.transaction():
            for method, text, arguments in steps:
                call: Callable[..., Any] = getattr(connection, method)
                await call(text, *arguments)


@asynccontextmanager
async def replay_on(url: str, clients: int) -> AsyncIterator[Replay]:
    """A Replay on the database, its connections open and settings those of the services' pools."""
    database = await Database.open(url, "bench replay", min_size=clients, max_size=clients)
    try:
        yield Replay(database._pool)
    finally:
        await database.close()


def statements_of(transactions: Sequence[Steps]) -> dict[str, float]:
    """How many statements a transaction had, on average and at most: for the JSON file."""
    counts = [len(steps) for steps in transactions]
    return {"transactions": len(counts), "mean": sum(counts) / max(1, len(counts)), "most": max(counts, default=0)}
