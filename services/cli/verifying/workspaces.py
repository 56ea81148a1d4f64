"""Planning's workspaces beside streaming's sessions (planning P.1): each has a session; both count turns alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

from services.cli.verifying.pages import Key, now, pages
from services.kernel.postgres import Database, Row

_WORKSPACES: Final = """
    SELECT tenant, session_id, turn, turn_id, fork_turn FROM workspaces
    WHERE making = 'ready' AND ($1::text[] IS NULL
        OR (tenant, session_id) IN (SELECT * FROM unnest($1::text[], $2::text[])))
"""
_SESSIONS: Final = """
    SELECT s.tenant, s.id, s.deleted_at IS NOT NULL AS deleted, s.turn_number, coalesce(t.begun, 0) AS begun,
        coalesce(t.ids, '{}') AS ids
    FROM unnest($1::text[], $2::text[]) AS of_(tenant, id) JOIN sessions s ON (s.tenant, s.id) = (of_.tenant, of_.id)
    LEFT JOIN LATERAL (
        SELECT max(n.number) FILTER (WHERE n.begun) AS begun, array_agg(n.number || ' ' || n.id) AS ids
        FROM (
            SELECT number, id, begun AND state <> 'starting' AS begun FROM turns
            WHERE (tenant, session_id) = (s.tenant, s.id) AND number > 0 ORDER BY number DESC LIMIT 100
        ) n
    ) t ON true
"""


class Workspaces:
    """Fills `Crossing`."""

    name = "workspaces"
    says: Sequence[str] = (
        "every workspace is that of a session that is there, or was deleted",
        "planning's newest turn is streaming's, by its number and its id",
    )

    def __init__(self, planning: Database, streaming: Database) -> None:
        self._planning = planning
        self._streaming = streaming
        self.compared = 0

    async def look(self, keys: Sequence[Key] | None = None) -> AsyncIterator[tuple[str, str, str, str]]:
        """Planning, then streaming, then planning again of what looks wrong: a turn's number rises in streaming first,
        but it begins in planning first."""
        async for page in pages(self._planning, _WORKSPACES, keys):
            self.compared += 0 if keys else len(page)
            sessions = await now(self._streaming, _SESSIONS, [(one[0], one[1]) for one in page])
            odd = [one for one in page if _faults(one, one, sessions.get((one[0], one[1])))]
            later = await now(self._planning, _WORKSPACES, [(one[0], one[1]) for one in odd]) if odd else {}
            for one in odd:
                key = (one[0], one[1])
                if key in later:
                    for rule, words in _faults(one, later[key], sessions.get(key)).items():
                        yield *key, rule, words


def _faults(before: Row, after: Row, session: Row | None) -> dict[str, str]:
    """`before` and `after`: the workspace before and after the session was read."""
    if session is None:
        return {"workspace-session": "its session is not in streaming, and nobody deleted it"}
    if session["deleted"]:
        return {}  # planning hears of it
    found = {}
    if before["turn"] > session["turn_number"]:
        found["turn-unknown"] = f"planning is at turn {before['turn']}, streaming at {session['turn_number']}"
    # Sessions are older than planning: one of which it has no turn yet went on without it.
    if 0 < after["turn"] < session["begun"]:
        found["turn-unkept"] = f"turn {session['begun']} has begun in streaming, planning is at {after['turn']}"
    ids = dict(one.split(" ", 1) for one in session["ids"])
    there = ids.get(str(before["turn"]), before["turn_id"])
    if before["turn"] > before["fork_turn"] and there != before["turn_id"]:
        found["turn-id"] = f"turn {before['turn']} is {before['turn_id']} in planning, {there} in streaming"
    return found
