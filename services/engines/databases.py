"""The roles and databases inside a server: an administrator for us, one plain role that owns the rest."""

import asyncpg

ADMIN = "treadle_admin"
ROLE = "treadle"


async def ensure_databases(admin_url: str, password: str, names: tuple[str, ...]) -> None:
    """Makes what is missing. The role may create databases (tests do, from templates) and nothing beyond."""
    connection = await asyncpg.connect(admin_url, timeout=10)
    try:
        if not await connection.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", ROLE):
            await connection.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{password}'")
        have = {row[0] for row in await connection.fetch("SELECT datname FROM pg_database WHERE NOT datistemplate")}
        for name in names:
            if name not in have:
                quoted = name.replace('"', '""')
                await connection.execute(f'CREATE DATABASE "{quoted}" OWNER {ROLE}')
    finally:
        await connection.close()
