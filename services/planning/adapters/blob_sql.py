"""A look at one blob. It is a subquery of its own, never a join: for each row one search by the whole key, where a
planner without statistics would read all that a family has kept, which grows with every turn."""

from __future__ import annotations

from typing import Any

from sqlalchemy import FromClause, func, literal_column, select

from services.planning.adapters.tables import BLOBS


def data_of(tenant: Any, family: Any, digest: Any, *within: FromClause) -> Any:
    """The data of the digest, null where it is not kept. `within`: the tables of the query that asks."""
    one = BLOBS.alias("one")
    return (
        select(one.c.data)
        .where(one.c.tenant == tenant, one.c.family == family, one.c.sha256 == digest)
        .correlate(*within)
        .scalar_subquery()
    )


def text_of(tenant: Any, family: Any, digest: Any, *within: FromClause) -> Any:
    """As data_of, as text."""
    return func.convert_from(data_of(tenant, family, digest, *within), literal_column("'UTF8'"))
