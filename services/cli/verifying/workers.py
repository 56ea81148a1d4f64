"""Coordinators and managed workers beside streaming's sessions (coordination C.1): each that began has its session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

from services.cli.verifying.pages import Key, now, pages
from services.kernel.postgres import Database

# That a session was deleted is remembered for 30 days: of what is older nothing can be said. A coordinator's session
# was there when a worker was spawned in it, a worker's when its agent said something.
_STARTED: Final = """
    SELECT o.tenant, o.session_id, o.what FROM (
        SELECT DISTINCT c.tenant, c.session_id, 'the coordinator' AS what, c.created_at
        FROM coordinators c JOIN workers w ON (w.tenant, w.coordinator_id) = (c.tenant, c.session_id)
        WHERE w.kind = 'subagent' AND NOT c.deleted
        UNION ALL
        SELECT tenant, session_id, 'worker ' || name || ' of ' || coordinator_id, created_at
        FROM workers WHERE kind = 'subagent' AND said
    ) o
    LEFT JOIN deleted_sessions d ON (d.tenant, d.session_id) = (o.tenant, o.session_id)
    WHERE d.session_id IS NULL AND o.created_at > now() - interval '29 days' AND ($1::text[] IS NULL
        OR (o.tenant, o.session_id) IN (SELECT * FROM unnest($1::text[], $2::text[])))
"""
_SESSIONS: Final = """
    SELECT s.tenant, s.id
    FROM unnest($1::text[], $2::text[]) AS of_(tenant, id) JOIN sessions s ON (s.tenant, s.id) = (of_.tenant, of_.id)
"""


class WorkerSessions:
    """Fills `Crossing`."""

    name = "coordinators and workers that began"
    says: Sequence[str] = ("a coordinator or a managed worker that began has its session, or that was deleted",)

    def __init__(self, coordination: Database, streaming: Database) -> None:
        self._coordination = coordination
        self._streaming = streaming
        self.compared = 0

    async def look(self, keys: Sequence[Key] | None = None) -> AsyncIterator[tuple[str, str, str, str]]:
        """Coordination, then streaming."""
        async for page in pages(self._coordination, _STARTED, keys):
            self.compared += 0 if keys else len(page)
            sessions = await now(self._streaming, _SESSIONS, [(one[0], one[1]) for one in page])
            for tenant, session, what in page:
                if (tenant, session) not in sessions:
                    words = f"the session of {what} is not in streaming, and nobody deleted it"
                    yield tenant, session, "started-session", words
