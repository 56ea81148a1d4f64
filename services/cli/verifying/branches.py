"""Branches that streaming holds back (planning P.3): somebody still makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

from services.cli.verifying.pages import Key, now, pages
from services.kernel.postgres import Database

_FORKING: Final = """
    SELECT tenant, id FROM sessions
    WHERE forking AND deleted_at IS NULL AND ($1::text[] IS NULL
        OR (tenant, id) IN (SELECT * FROM unnest($1::text[], $2::text[])))
"""
_SAGAS: Final = """
    SELECT b.tenant, b.session_id, b.state
    FROM unnest($1::text[], $2::text[]) AS of_(tenant, id)
    JOIN branches b ON (b.tenant, b.session_id) = (of_.tenant, of_.id)
"""
_UNDER_WAY: Final = ("forking", "opening", "abandoning")


class HalfBranches:
    """Fills `Crossing`."""

    name = "branches under way"
    says: Sequence[str] = ("a session that is half of a branch has a saga that goes on",)

    def __init__(self, planning: Database, streaming: Database) -> None:
        self._planning = planning
        self._streaming = streaming
        self.compared = 0

    async def look(self, keys: Sequence[Key] | None = None) -> AsyncIterator[tuple[str, str, str, str]]:
        """Streaming, then planning."""
        async for page in pages(self._streaming, _FORKING, keys):
            self.compared += 0 if keys else len(page)
            sagas = await now(self._planning, _SAGAS, [(one[0], one[1]) for one in page])
            for tenant, session in page:
                saga = sagas.get((tenant, session))
                state = "not there" if saga is None else saga["state"]
                if state not in _UNDER_WAY:
                    yield tenant, session, "half-branch", f"streaming holds it as forking, its saga is {state}"
