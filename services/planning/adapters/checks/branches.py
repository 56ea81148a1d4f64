"""Branches (C6, P.3): what a branch stands on is what its origin had at the fork, and each is where its saga is."""

from __future__ import annotations

from typing import Final

from services.kernel.verifying import Rule, asked
from services.planning.domain.restore import OPEN_END

# What fork() would make of the origin's stretches now: they do not change once they are made.
_WOULD: Final = """
    SELECT w.tenant, w.session_id, r.line, r.low, least(r.high, w.fork_turn) AS high
    FROM workspaces w JOIN stretches r ON (r.tenant, r.session_id) = (w.tenant, w.parent_id)
    WHERE w.parent_id <> '' AND r.low < w.fork_turn
"""
_HAS: Final = """
    SELECT w.tenant, w.session_id, r.line, r.low, r.high
    FROM workspaces w JOIN stretches r ON (r.tenant, r.session_id) = (w.tenant, w.session_id)
    JOIN workspaces origin ON (origin.tenant, origin.session_id) = (w.tenant, w.parent_id)
    WHERE w.parent_id <> '' AND r.line <> w.session_id
"""

BRANCHES: Final = (
    Rule(
        "stretches",
        "a session's turns are one line without holes or overlaps, the last part its own, all of its family",
        asked(f"""
            SELECT tenant, session_id, 'its turns come from ' || string_agg(line || ' ' || low || '..' || high, ', '
                ORDER BY low)
            FROM (
                SELECT w.tenant, w.session_id, w.family AS mine, r.*, w.fork_turn,
                    coalesce(lag(r.high) OVER line, 0) AS before, lead(r.low) OVER line AS after
                FROM workspaces w
                LEFT JOIN (SELECT tenant AS t, session_id AS s, line, low, high, family FROM stretches) r
                    ON (r.t, r.s) = (w.tenant, w.session_id)
                WINDOW line AS (PARTITION BY w.tenant, w.session_id ORDER BY r.low)
            ) one
            GROUP BY tenant, session_id
            HAVING bool_or(low IS NULL OR low <> before OR family <> mine)
                OR bool_or(after IS NULL AND (line <> session_id OR high <> {OPEN_END} OR low <> fork_turn))
                OR bool_or(after IS NOT NULL AND line = session_id)
        """),
    ),
    Rule(
        "branch-prefix",
        "up to the fork a branch has its origin's turns, as long as that one exists",
        asked(f"""
            SELECT tenant, session_id, 'of ' || line || ' ' || low || '..' || high || ' ' || what
            FROM (
                (SELECT *, 'it has not what its origin has' AS what FROM ({_WOULD} EXCEPT {_HAS}) missing)
                UNION ALL
                (SELECT *, 'it has what its origin has not' AS what FROM ({_HAS} EXCEPT {_WOULD}) foreign_)
            ) both_
        """),
    ),
    Rule(
        "branch-fork",
        "a branch's fork is a turn that it has",
        asked("""
            SELECT w.tenant, w.session_id, 'it was forked after turn ' || w.fork_turn || ', which it does not have'
            FROM workspaces w
            WHERE w.fork_turn > 0 AND NOT EXISTS (
                SELECT FROM stretches r JOIN turns t ON (t.tenant, t.line) = (r.tenant, r.line)
                WHERE (r.tenant, r.session_id) = (w.tenant, w.session_id) AND t.number = w.fork_turn
                    AND t.number > r.low AND t.number <= r.high)
        """),
    ),
    Rule(
        "branch-state",
        "a branch's workspace is as far as its saga says, and there is none of one that failed",
        asked("""
            SELECT b.tenant, b.session_id, 'its saga is ' || b.state || ', its workspace ' || coalesce(
                w.making || ', forked after ' || w.fork_turn || ' of ' || w.parent_id, 'is not there')
                || '; the saga forks ' || b.origin_id || ' after ' || b.turn
            FROM branches b LEFT JOIN workspaces w ON (w.tenant, w.session_id) = (b.tenant, b.session_id)
            WHERE CASE b.state
                WHEN 'forking' THEN w.making IS DISTINCT FROM 'forking'
                WHEN 'opening' THEN w.making IS NULL OR w.making = 'forking'
                WHEN 'ready' THEN w.making IS DISTINCT FROM 'ready'
                WHEN 'failed' THEN w.making IS NOT NULL
                ELSE false END
                OR w.fork_turn <> b.turn OR w.parent_id <> b.origin_id
        """),
    ),
    Rule(
        "branch-saga",
        "a workspace that is being made has a saga under way",
        asked("""
            SELECT w.tenant, w.session_id, 'it is ' || w.making || ', its saga ' || coalesce(b.state, 'is not there')
            FROM workspaces w LEFT JOIN branches b ON (b.tenant, b.session_id) = (w.tenant, w.session_id)
            WHERE w.making <> 'ready' AND (b.state IS NULL OR b.state IN ('ready', 'failed'))
        """),
    ),
    Rule(
        "branch-waits",
        "branches are made within a minute",
        asked("""
            SELECT tenant, session_id, 'it is ' || state || ' since ' || created_at || ', after ' || attempts
                || ' attempts'
            FROM branches
            WHERE state IN ('forking', 'opening', 'abandoning') AND created_at < now() - interval '1 minute'
        """),
        information=True,
    ),
    Rule(
        "turn-orphans",
        "turns that no session has go with their sessions",
        asked("""
            SELECT t.tenant, t.line, count(*) || ' turns ' || min(t.number) || '..' || max(t.number) || ' are nobody''s'
            FROM turns t
            WHERE NOT EXISTS (SELECT FROM stretches r WHERE (r.tenant, r.line) = (t.tenant, t.line)
                AND t.number > r.low AND t.number <= r.high)
            GROUP BY t.tenant, t.line
        """),
        information=True,
    ),
)
