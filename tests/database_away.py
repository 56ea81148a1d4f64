"""A database that nobody reaches for a while (PUB07)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg

from services.engines import Engines


@asynccontextmanager
async def away(servers: Engines, url: str, seconds: float = 2.0) -> AsyncIterator[None]:
    """Every connection to it is cut, and new ones are refused, for so long at least."""
    name = urlsplit(url).path.removeprefix("/")
    admin = await asyncpg.connect(servers.admin_url())
    try:
        await admin.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT 0')
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
        until = asyncio.get_running_loop().time() + seconds
        yield
        await asyncio.sleep(max(0.0, until - asyncio.get_running_loop().time()))
    finally:
        await admin.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT -1')
        await admin.close()
