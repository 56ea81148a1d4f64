"""Rows of one database, a page at a time over one snapshot; and what another one says of a page, as it is now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

from services.kernel.postgres import Database, Row

_PAGE: Final = 500

Key = tuple[str, str]
"""Tenant and id."""


async def pages(database: Database, sql: str, keys: Sequence[Key] | None) -> AsyncIterator[list[Row]]:
    """Of `sql`, which takes tenants and ids ($1, $2) or NULL for all."""
    page: list[Row] = []
    async with database.transaction(read_snapshot=True) as tx:
        await tx.raw.execute("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0")
        async for row in tx.raw.cursor(sql, *_columns(keys), prefetch=_PAGE):
            page.append(row)
            if len(page) == _PAGE:
                yield page
                page = []
    if page:
        yield page


async def now(database: Database, sql: str, keys: Sequence[Key]) -> dict[Key, Row]:
    """By (tenant, id), which are the first two columns."""
    async with database.connection() as tx:
        return {(row[0], row[1]): row for row in await tx.raw.fetch(sql, *_columns(keys))}


def _columns(keys: Sequence[Key] | None) -> tuple[list[str] | None, list[str] | None]:
    return (None, None) if keys is None else ([one[0] for one in keys], [one[1] for one in keys])
