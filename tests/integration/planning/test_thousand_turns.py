"""A thousand turns (P.2): what they keep costs at most twice the distinct content, and reading is two queries."""

from __future__ import annotations

import random

import asyncpg

from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.planning.adapters import keeping
from tests.integration.planning.client import Planning
from tests.integration.planning.test_snapshots import end

TURNS = 1_000
WORDS = ("alpha", "beta", "gamma", "delta", "plan", "build", "look", "ship", "test", "learn", "ask", "tell", "read")


def _prose(seed: int, length: int) -> str:
    """Text that does not compress to nothing."""
    rng = random.Random(seed)
    made = ""
    while len(made) < length:
        made += f"{rng.choice(WORDS)}{rng.randrange(10**6)} "
    return made[:length]


async def test_1000_turns_cost_at_most_twice_the_distinct_content(
    planning: Planning, chat: str, database: Database
) -> None:
    for at in range(4):
        await planning.add(chat, *(_prose(at * 50 + one, 80) for one in range(50)))
    for at in range(10):
        await planning.put(chat, f"d{at}", _prose(1000 + at, 50_000))
    for turn in range(1, TURNS + 1):
        await planning.begin(chat, turn)
        agent = planning.agent(chat)
        if turn % 2 == 0:
            await agent.toggle(chat, turn % 200 + 1)
        if turn % 5 == 0:
            await agent.aim(chat, f"goal {turn}")
        if turn % 50 == 0:
            await agent.put(chat, f"d{turn // 50 % 10}", _prose(turn, 50_000))
    async with database.connection() as tx:
        await tx.raw.execute("VACUUM FULL")
        sizes = {
            table: await tx.raw.fetchval("SELECT pg_total_relation_size($1::regclass)", table)
            for table in ("blobs", "turns")
        }
        distinct: int = await tx.raw.fetchval("SELECT sum(length(data)) FROM blobs")
    assert sum(sizes.values()) <= 2 * distinct, (sizes, distinct)


async def test_turns_that_change_nothing_cost_a_row_each(planning: Planning, chat: str, database: Database) -> None:
    await planning.add(chat, "a")
    for turn in range(1, 51):
        await planning.begin(chat, turn)
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT count(*) FROM blobs") == 2


async def test_reading_any_turn_is_two_queries(planning: Planning, chat: str, database: Database) -> None:
    asked: list[str] = []

    class Counting:
        def __init__(self, raw: asyncpg.Connection[asyncpg.Record]) -> None:
            self._raw = raw

        async def fetchrow(self, text: str, *values: object) -> object:
            asked.append(text)
            return await self._raw.fetchrow(text, *values)

        async def fetch(self, text: str, *values: object) -> object:
            asked.append(text)
            return await self._raw.fetch(text, *values)

    await planning.put(chat, "notes", "x")
    for turn in range(1, 31):
        await planning.begin(chat, turn, new_id("trn"))
        await planning.agent(chat).add(chat, f"step {turn}")
    await end(database, chat)
    for turn in (0, 1, 15, 29, 30):
        async with database.transaction() as tx:
            asked.clear()
            tx.raw = Counting(tx.raw)  # type: ignore[arg-type, assignment]
            restored = await keeping.restored(tx, "acme", chat, turn)
        assert len(restored.steps) == turn
        assert len(asked) <= 2
