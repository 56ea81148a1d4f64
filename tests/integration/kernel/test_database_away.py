"""A server that is killed under its connections: whoever asks is told that it is away, and nothing else (PUB07)."""

from __future__ import annotations

import asyncio
from collections import Counter

import asyncpg
import pytest

from services.engines import Engines
from services.kernel.errors import Unavailable
from services.kernel.postgres import Database
from tests.conftest import MakeDatabase
from tests.database_away import away
from tests.logs import logs_of

_AT_ONCE = 20


async def test_pub07_a_connection_whose_server_says_good_bye_is_a_database_that_is_away(
    servers: Engines, make_database: MakeDatabase, rounds: int
) -> None:
    """Each round asks over connections that have just been ended, and some that are being ended."""
    database = await Database.open(await make_database("coordination"), "test", max_size=_AT_ONCE)
    admin = await asyncpg.connect(servers.admin_url())
    told: Counter[str] = Counter()

    async def ask() -> None:
        try:
            async with database.transaction() as tx:
                await tx.raw.fetchval("SELECT 1 FROM pg_sleep(0.005)")
            told["answered"] += 1
        except Unavailable as refusal:
            told[refusal.reason] += 1

    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'treadle test'"
    try:
        for _ in range(rounds):
            asking = [asyncio.create_task(ask()) for _ in range(_AT_ONCE)]
            await admin.execute(end)
            await asyncio.gather(*asking, *(ask() for _ in range(_AT_ONCE)))
        assert set(told) <= {"answered", "DATABASE_UNAVAILABLE"}, told
        assert told["answered"], told
        assert told["DATABASE_UNAVAILABLE"], told
    finally:
        await admin.close()
        await database.close()


async def test_what_asyncpg_says_of_such_a_connection_is_no_bug_of_ours(make_database: MakeDatabase) -> None:
    """Seen when the server's last message had come, and its end of the connection had not."""
    database = await Database.open(await make_database("coordination"), "test")
    words = "cannot switch to state 12; another operation (2) is in progress"
    with pytest.raises(Unavailable) as refused:
        async with database.connection():
            raise asyncpg.InternalClientError(words)
    assert words not in refused.value.message
    with logs_of("postgres") as logs:
        for _ in range(50):
            with pytest.raises(Unavailable):
                async with database.transaction():
                    raise asyncpg.InternalClientError(words)
    assert logs == [], "it was told a moment ago"
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT 1") == 1
    await database.close()


async def test_pub07_a_service_that_starts_while_the_server_is_away_waits_for_it(
    servers: Engines, make_database: MakeDatabase
) -> None:
    url = await make_database("coordination")
    async with away(servers, url, 1.0):
        with pytest.raises(asyncpg.TooManyConnectionsError):
            await Database.open(url, "test")
        opening = asyncio.create_task(Database.open(url, "test", patience=30))
    database = await opening
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT 1") == 1
    await database.close()
    begin = asyncio.get_running_loop().time()
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await Database.open(servers.database_url("not_there"), "test", patience=30)
    assert asyncio.get_running_loop().time() - begin < 20
