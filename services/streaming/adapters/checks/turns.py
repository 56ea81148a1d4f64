"""Turns (D1.1): numbered, ended as they say, and a session is in the state of its newest one."""

from __future__ import annotations

from typing import Final

from services.kernel.verifying import Rule, asked
from services.streaming.domain.turns import CODES

_CODES: Final = ", ".join(f"'{code}'" for code in sorted(CODES))

TURNS: Final = (
    Rule(
        "session-state",
        "a session is in the state of its newest turn, with its outcome and code",
        asked("""
            SELECT s.tenant, s.id, 'it is ' || concat_ws(' ', s.state, s.outcome, s.code) || ' at turn '
                || CASE s.turn_id WHEN '' THEN 'none' ELSE s.turn_id END || ', which is '
                || coalesce(concat_ws(' ', t.state, t.outcome, t.code), 'not there')
            FROM sessions s LEFT JOIN LATERAL (
                SELECT o.state, o.outcome, o.code FROM turns o
                WHERE (o.tenant, o.session_id, o.id) = (s.tenant, s.id, s.turn_id)
                UNION ALL
                SELECT o.state, o.outcome, o.code
                FROM stretches p JOIN turns o ON (o.tenant, o.session_id, o.number) = (p.tenant, p.line, p.high)
                WHERE (p.tenant, p.session_id, p.high) = (s.tenant, s.id, s.fork_turn) AND NOT EXISTS (
                    SELECT FROM turns t
                    WHERE (t.tenant, t.session_id) = (s.tenant, s.id) AND t.state <> 'starting')
            ) t ON true
            WHERE s.deleted_at IS NULL AND (
                (s.turn_id = '' AND s.state <> 'idle') OR (s.turn_id <> '' AND (
                    t.state IS DISTINCT FROM s.state OR t.code <> s.code
                    OR s.outcome <> CASE t.state WHEN 'idle' THEN t.outcome ELSE '' END)))
        """),
    ),
    Rule(
        "turn-numbers",
        "a session's newest turn has its highest number, and no turn a higher one than the session knows",
        asked("""
            SELECT s.tenant, s.id, 'it is at turn ' || s.turn_number || ' ' || CASE s.starting WHEN '' THEN s.turn_id
                ELSE s.starting END || ', its newest is ' || coalesce(t.number || ' ' || t.id, 'none')
            FROM sessions s LEFT JOIN LATERAL (
                SELECT t.number, t.id FROM turns t
                WHERE (t.tenant, t.session_id) = (s.tenant, s.id) AND t.number > 0 ORDER BY t.number DESC LIMIT 1
            ) t ON true
            WHERE s.deleted_at IS NULL AND (t.number > s.turn_number
                OR t.id <> CASE s.starting WHEN '' THEN s.turn_id ELSE s.starting END)
        """),
    ),
    Rule(
        "turn-holes",
        "the numbers of a session's turns are 1..n, but for those that planning had given away before",
        asked("""
            SELECT s.tenant, s.id,
                'it is at turn ' || s.turn_number || ', has ' || own.n || ' and shares ' || others.n
            FROM sessions s CROSS JOIN LATERAL (
                SELECT count(*) AS n FROM turns t
                WHERE (t.tenant, t.session_id) = (s.tenant, s.id) AND t.number > 0
            ) own CROSS JOIN LATERAL (
                SELECT count(*) AS n FROM stretches p JOIN turns t ON (t.tenant, t.session_id) = (p.tenant, p.line)
                    AND t.number > 0 AND t.number <= p.high
                WHERE (p.tenant, p.session_id) = (s.tenant, s.id)
            ) others
            WHERE s.deleted_at IS NULL AND own.n + others.n <> s.turn_number
        """),
        information=True,
    ),
    Rule(
        "turn-end",
        "a turn that has ended has a time, an outcome and, where it failed, a code; no other has",
        asked(f"""
            SELECT tenant, session_id, 'turn ' || id || ' is ' || concat_ws(' ', state, outcome, code) || ', ended '
                || coalesce(ended_at::text, 'never')
            FROM turns
            WHERE (ended_at IS NULL) <> (state IN ('starting', 'running', 'waiting'))
                OR CASE state
                    WHEN 'idle' THEN outcome NOT IN ('ok', 'truncated', 'aborted') OR code <> ''
                    WHEN 'failed' THEN outcome <> 'failed' OR code NOT IN ({_CODES})
                    ELSE outcome <> '' OR code <> '' END
        """),
    ),
    Rule(
        "turn-open",
        "one turn at most is open, and its session knows of it",
        asked("""
            SELECT t.tenant, t.session_id, 'turn ' || t.id || ' is ' || t.state || ', its session at '
                || CASE WHEN s.starting <> '' THEN s.starting || ' (starting)' ELSE s.turn_id END
            FROM turns t JOIN sessions s ON (s.tenant, s.id) = (t.tenant, t.session_id)
            WHERE s.deleted_at IS NULL AND t.ended_at IS NULL
                AND t.id <> CASE t.state WHEN 'starting' THEN s.starting ELSE s.turn_id END
        """),
    ),
    Rule(
        "turn-starting",
        "a session that starts a turn has one that starts",
        asked("""
            SELECT s.tenant, s.id, 'it starts turn ' || s.starting || ', which is ' || coalesce(t.state, 'not there')
            FROM sessions s LEFT JOIN turns t ON (t.tenant, t.session_id, t.id) = (s.tenant, s.id, s.starting)
            WHERE s.deleted_at IS NULL AND s.starting <> '' AND t.state IS DISTINCT FROM 'starting'
        """),
    ),
    Rule(
        "fork",
        "a branch's turns up to its fork are its origin's, and no others; half of a branch takes no turns",
        asked("""
            SELECT s.tenant, s.id, 'forked after ' || s.fork_turn || ' of '
                || CASE s.forked_from WHEN '' THEN 'nothing' ELSE s.forked_from END
                || CASE WHEN s.forking THEN ', still forking' ELSE '' END || coalesce(', with ' || t.odd, '')
            FROM sessions s LEFT JOIN LATERAL (
                SELECT string_agg(t.id, ', ') AS odd FROM turns t
                WHERE (t.tenant, t.session_id) = (s.tenant, s.id) AND t.number > 0
                    AND (t.origin_turn_id <> '') <> (s.forked_from <> '' AND t.number <= s.fork_turn)
            ) t ON true
            WHERE s.deleted_at IS NULL AND (t.odd IS NOT NULL
                OR (s.forked_from = '' AND (s.fork_turn <> 0 OR s.forking)) OR s.fork_turn > s.turn_number
                OR (s.forking AND (s.starting <> '' OR s.agent <> 'none' OR s.turn_number <> s.fork_turn)))
        """),
    ),
)
