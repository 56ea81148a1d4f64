"""Databases of a benchmark: one is filled once, and each half of each round gets a copy of it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from services.engines import Engines
from services.kernel.migrations import migrate


class Databases:
    """Of one Postgres."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    async def migrated(self, service: str) -> str:
        """The URL of the service's database at its newest schema."""
        url = self._engines.database_url(service)
        await migrate(url, f"services.{service}.migrations")
        return url

    @asynccontextmanager
    async def copy_of(self, service: str) -> AsyncIterator[str]:
        """The URL of a copy of the service's database as it is now, gone with the context. Nobody may be connected
        to the original. Statistics are fresh, and nothing waits to be written."""
        name = f"{service}_{secrets.token_hex(6)}"
        await self._admin(f'CREATE DATABASE "{name}" TEMPLATE "{service}" OWNER treadle')
        try:
            connection = await asyncpg.connect(self._engines.database_url(name))
            try:
                await connection.execute("ANALYZE")
            finally:
                await connection.close()
            await self._admin("CHECKPOINT")
            yield self._engines.database_url(name)
        finally:
            await self._admin(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    async def _admin(self, statement: str) -> None:
        admin = await asyncpg.connect(self._engines.admin_url())
        try:
            await admin.execute(statement)
        finally:
            await admin.close()
