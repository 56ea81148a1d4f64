"""Runs a service's Alembic migrations: idempotent, and one at a time however many replicas start.

Revisions are linear and numbered: `versions/0001_name.py` holds revision "0001" (a test holds this).
"""

from __future__ import annotations

import asyncio
import importlib
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

import asyncpg
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

_LOCK: Final = 0x7472_6561
"""Key of the advisory lock that a migration holds until it commits."""
_SCRIPTS: Final = Path(__file__).with_name("alembic")


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""Alembic keeps its context in module globals: one migration at a time in a process."""


async def migrate(database_url: str, package: str) -> None:
    """Brings the database to the newest revision in `package` (for example `services.threads.migrations`)."""
    if await current_revision(database_url) == newest_revision(package):
        return  # a warm start costs one query, not Alembic's import

    async def connect() -> asyncpg.Connection[asyncpg.Record]:
        return await asyncpg.connect(database_url, timeout=30)

    turn = _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    engine = create_async_engine("postgresql+asyncpg://", async_creator=connect, poolclass=NullPool)
    await turn.acquire()
    try:
        async with engine.begin() as connection:
            await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            await connection.run_sync(_upgrade, _folder(package))
    finally:
        turn.release()
        await engine.dispose()


async def current_revision(database_url: str) -> str | None:
    """The revision that the database is at; None for an empty one."""
    connection = await asyncpg.connect(database_url, timeout=30)
    try:
        if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
            return None
        revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
        return revision
    finally:
        await connection.close()


def newest_revision(package: str) -> str:
    """The newest revision that the code knows."""
    return max(path.name.split("_")[0] for path in (_folder(package) / "versions").glob("[0-9]*_*.py"))


def _folder(package: str) -> Path:
    return Path(str(importlib.import_module(package).__file__)).parent


def _upgrade(connection: Connection, versions: Path) -> None:
    # Alembic is slow to import and only migrations need it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.set_main_option("version_locations", str(versions / "versions"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
