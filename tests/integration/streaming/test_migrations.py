"""What was written before turns had numbers is numbered; code of before goes on beside code of now (style, rule 12)."""

from __future__ import annotations

import shutil
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from services.engines import Engines
from services.kernel import migrations
from services.kernel.ids import new_id
from services.kernel.postgres import Database

PACKAGE = "services.streaming.migrations"
VERSIONS = Path(migrations.__file__).parents[1] / "streaming/migrations/versions"
OLD = ("0001", "0002", "0003")


SESSION = """
    INSERT INTO sessions
        (tenant, id, state, title, adapter, provider, model, thinking, created_at, updated_at, forked_from, fork_turn)
    VALUES ('default', $1, 'idle', '', 'scripted', '', '', 'medium', now(), now(), $2, $3)
"""
TURN = """
    INSERT INTO turns (tenant, session_id, id, number, state, outcome, text, asked_by, after_seq, created_at, ended_at,
        origin_turn_id)
    VALUES ('default', $1, $2, $3, 'idle', 'aborted', 'x', 'user:local', 0, now(), now(), $4)
"""
SHARE = "INSERT INTO stretches VALUES ('default', $1, $2, $3, 0, 0)"


@pytest.fixture
async def old_url(servers: Engines, tmp_path: Path) -> str:
    """A database of the schema before numbers."""
    base = f"old_{new_id('db')}"
    admin = await asyncpg.connect(servers.admin_url())
    await admin.execute(f'CREATE DATABASE "{base}"')
    await admin.close()
    url = servers.admin_url(base)
    (tmp_path / "versions").mkdir()
    for file in VERSIONS.glob("[0-9]*.py"):
        if file.name[:4] in OLD:
            shutil.copy(file, tmp_path / "versions" / file.name)
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url), poolclass=NullPool
    )
    async with engine.begin() as connection:
        await connection.run_sync(migrations._upgrade, tmp_path)
    await engine.dispose()
    return url


async def test_turns_of_before_are_numbered_by_session_in_their_order(old_url: str) -> None:
    raw = await asyncpg.connect(old_url)
    begin = """
        INSERT INTO turns (tenant, session_id, id, state, text, asked_by, after_seq, created_at)
        VALUES ('default', $1, $2, $3, 'x', 'user:local', 0, now() + $4 * interval '1 second')
    """
    for session in ("ses_a", "ses_b", "ses_c"):
        await raw.execute(
            """
            INSERT INTO sessions
                (tenant, id, state, title, adapter, provider, model, thinking, created_at, updated_at)
            VALUES ('default', $1, 'idle', '', 'scripted', '', '', 'medium', now(), now())
            """,
            session,
        )
    for session, turn, state, at in (
        ("ses_a", "trn_2", "failed", 2),
        ("ses_a", "trn_1", "idle", 1),
        ("ses_b", "trn_1", "idle", 1),
        ("ses_a", "trn_3", "running", 3),
    ):
        await raw.execute(begin, session, turn, state, at)
    await migrations.migrate(old_url, PACKAGE)
    assert await migrations.current_revision(old_url) == migrations.newest_revision(PACKAGE)
    rows = await raw.fetch("SELECT session_id, id, number, begun FROM turns ORDER BY 1, 3")
    assert [tuple(row) for row in rows] == [
        ("ses_a", "trn_1", 1, True),
        ("ses_a", "trn_2", 2, True),
        ("ses_a", "trn_3", 3, True),
        ("ses_b", "trn_1", 1, True),
    ]
    assert [row["turn_number"] for row in await raw.fetch("SELECT * FROM sessions ORDER BY id")] == [3, 1, 0]
    await raw.execute(begin, "ses_b", "trn_old", "running", 9)  # as code of before does, while both run
    with pytest.raises(asyncpg.UniqueViolationError):
        await raw.execute(begin, "ses_b", "trn_two", "running", 9)
    with pytest.raises(asyncpg.CheckViolationError):
        await raw.execute("UPDATE turns SET state = 'starting' WHERE id = 'trn_old'")
    await raw.close()


async def test_code_that_copies_turns_makes_no_half_branches_and_deletes_nothing_that_is_shared(
    database: Database,
) -> None:
    async with database.connection() as tx:
        raw = tx.raw
        for session, origin, fork in (("ses_a", "", 0), ("ses_b", "ses_a", 1), ("ses_c", "ses_a", 1)):
            await raw.execute(SESSION, session, origin, fork)
        await raw.execute(TURN, "ses_a", "trn_1", 1, "")
        await raw.execute(TURN, "ses_b", "trn_2", 1, "trn_1")  # as code of before goes on doing
        await raw.execute(SHARE, "ses_c", "ses_a", 1)
        await raw.execute(TURN, "ses_c", "trn_3", 2, "")
        await raw.execute(SESSION, "ses_d", "ses_c", 2)
        with pytest.raises(asyncpg.SerializationError):  # it would be a branch without turn 1: try again
            await raw.execute(TURN, "ses_d", "trn_4", 2, "trn_3")
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            await raw.execute("DELETE FROM sessions WHERE id = 'ses_a'")
        await raw.execute("DELETE FROM sessions WHERE id = 'ses_c'")
        await raw.execute("DELETE FROM sessions WHERE id = 'ses_a'")
