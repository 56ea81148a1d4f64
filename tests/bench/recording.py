"""The raw limit of a command: the very statements that its handler runs, with the very arguments, and no service
around them.

The handlers run once on one copy of a database, with asyncpg's query log on its connections; what was logged is then
replayed on other copies in the same state. Same SQL texts, same round trips, same rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from services.kernel.postgres import Database, Row

Steps = list[tuple[str, str, list[Any]]]
"""(method of asyncpg's Connection, SQL, its arguments) of one transaction, in order, without BEGIN and COMMIT."""
_INTROSPECTION = "pg_catalog.pg_type"


class QueryLog:
    """What was logged on one connection or several that are used one at a time: committed transactions."""

    def __init__(self) -> None:
        self.transactions: list[Steps] = []
        self._open: Steps | None = None

    def logged(self, query: asyncpg.connection.LoggedQuery) -> None:
        """Of asyncpg: called after each statement."""
        head = query.query.lstrip()[:8].upper()
        if head.startswith("BEGIN"):
            self._open = []
        elif head.startswith("COMMIT") and self._open is not None:
            self.transactions.append(self._open)
            self._open = None
        elif head.startswith("ROLLBACK"):
            self._open = None
        elif self._open is not None and _INTROSPECTION not in query.query:
            self._open.append(_step(query.query, query.args))


def _step(text: str, arguments: Any) -> tuple[str, str, list[Any]]:
    """`executemany` is logged with a list of rows; everything else with a tuple, and is one round trip like `fetch`."""
    if isinstance(arguments, list):
        return "executemany", text, [arguments]
    return "fetch", text, list(arguments)


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
