"""Coordinators and what hangs on them (A1, C.2): names, caps, depth 1, budgets, notes, injections."""

from __future__ import annotations

from typing import Final

from services.coordination.domain import limits
from services.coordination.domain.injection import MOST
from services.kernel.verifying import Rule, asked

_NAME: Final = "^" + limits.NAME.pattern + "$"
_LISTS: Final = """
    SELECT tenant, session_id AS coordinator_id, '' AS worker_id, session_id AS id, note_seq FROM coordinators
    UNION ALL SELECT tenant, coordinator_id, id, id, note_seq FROM workers
"""

ROSTERS: Final = (
    Rule(
        "worker-texts",
        "names, briefs, extra contexts and session ids are within their limits",
        asked(f"""
            SELECT tenant, id, 'its name is ' || left(name, 80) || ', its texts have ' || char_length(brief) || ', '
                || char_length(context) || ' and ' || char_length(session_id) || ' characters'
            FROM workers
            WHERE name COLLATE "C" !~ '{_NAME}' OR char_length(brief) NOT BETWEEN 1 AND {limits.BRIEF_MOST}
                OR char_length(context) > {limits.CONTEXT_MOST}
                OR char_length(session_id) NOT BETWEEN 1 AND {limits.SESSION_ID_MOST}
        """),
    ),
    Rule(
        "depth",
        "no worker has workers of its own",
        asked("""
            SELECT DISTINCT w.tenant, w.id, w.name || ' coordinates workers of its own in ' || w.session_id
            FROM workers w JOIN workers below ON (below.tenant, below.coordinator_id) = (w.tenant, w.session_id)
        """),
    ),
    Rule(
        "caps",
        f"a coordinator has at most {limits.LIVE_MOST} live workers and {limits.WORKERS_MOST} in all",
        asked(f"""
            SELECT tenant, coordinator_id, 'it has ' || count(*) FILTER (WHERE ended_at IS NULL) || ' live workers, '
                || count(*) || ' in all'
            FROM workers GROUP BY tenant, coordinator_id
            HAVING count(*) FILTER (WHERE ended_at IS NULL) > {limits.LIVE_MOST} OR count(*) > {limits.WORKERS_MOST}
        """),
    ),
    Rule(
        "spent",
        "nothing that was spent is negative, and a coordinator has spent all that its workers have",
        asked("""
            SELECT c.tenant, c.session_id, 'it has spent ' || c.spent_ms || ' ms and ' || c.spent_tokens
                || ' tokens, its workers ' || coalesce(sum(w.spent_ms), 0) || ' and ' || coalesce(sum(w.tokens), 0)
            FROM coordinators c LEFT JOIN workers w ON (w.tenant, w.coordinator_id) = (c.tenant, c.session_id)
            GROUP BY c.tenant, c.session_id
            HAVING least(c.spent_ms, c.spent_tokens, min(w.spent_ms), min(w.tokens)) < 0
                OR c.spent_ms < coalesce(sum(w.spent_ms), 0) OR c.spent_tokens < coalesce(sum(w.tokens), 0)
        """),
    ),
    Rule(
        "spent-by-others",
        "what a coordinator spent is what its workers did, and those whose launch failed before their name was reused",
        asked("""
            SELECT c.tenant, c.session_id, 'it has spent ' || c.spent_ms - coalesce(sum(w.spent_ms), 0) || ' ms and '
                || c.spent_tokens - coalesce(sum(w.tokens), 0) || ' tokens that no worker of now has'
            FROM coordinators c LEFT JOIN workers w ON (w.tenant, w.coordinator_id) = (c.tenant, c.session_id)
            GROUP BY c.tenant, c.session_id
            HAVING c.spent_ms > coalesce(sum(w.spent_ms), 0) OR c.spent_tokens > coalesce(sum(w.tokens), 0)
        """),
        information=True,
    ),
    Rule(
        "notes",
        f"a list of notes is its newest {limits.NOTES_KEPT}, without holes, and its owner exists",
        asked(f"""
            SELECT coalesce(l.tenant, n.tenant), coalesce(l.id, n.worker_id), coalesce(n.notes, 0) || ' notes '
                || coalesce(n.low, 0) || '..' || coalesce(n.high, 0) || ', the newest should be '
                || coalesce(l.note_seq::text, 'of a list that exists')
            FROM ({_LISTS}) l FULL JOIN (
                SELECT tenant, coordinator_id, worker_id, count(*) AS notes, min(sequence) AS low, max(sequence) AS high
                FROM notes GROUP BY tenant, coordinator_id, worker_id
            ) n ON (n.tenant, n.coordinator_id, n.worker_id) = (l.tenant, l.coordinator_id, l.worker_id)
            WHERE l.id IS NULL OR coalesce(n.high, 0) <> l.note_seq
                OR coalesce(n.notes, 0) <> least(l.note_seq, {limits.NOTES_KEPT})
                OR n.high - n.low + 1 <> n.notes
        """),
    ),
    Rule(
        "note-texts",
        f"a note has 1..{limits.NOTE_MOST} characters",
        asked(f"""
            SELECT tenant, coordinator_id, 'note ' || sequence || ' has ' || char_length(text) || ' characters'
            FROM notes WHERE char_length(text) NOT BETWEEN 1 AND {limits.NOTE_MOST}
        """),
    ),
    Rule(
        "injections",
        f"what was injected has at most {MOST} characters and its SHA-256",
        asked(f"""
            SELECT tenant, session_id, 'what was injected into ' || turn_id || ' has ' || char_length(text)
                || ' characters and ' || CASE WHEN encode(sha256(convert_to(text, 'UTF8')), 'hex') = sha256
                THEN 'its' ELSE 'not its' END || ' SHA-256'
            FROM injections
            WHERE char_length(text) > {MOST} OR encode(sha256(convert_to(text, 'UTF8')), 'hex') <> sha256
        """),
    ),
)
