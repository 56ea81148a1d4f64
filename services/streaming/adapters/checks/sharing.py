"""What branches share with their ancestors, deleted or not, instead of copies (design/planning.md C6)."""

from __future__ import annotations

from typing import Final

from services.kernel.verifying import Rule, asked

SHARING: Final = (
    Rule(
        "stretches",
        "what a branch shares is there, up to its fork: turns that have ended, and the messages of all of them",
        asked("""
            SELECT p.tenant, p.session_id, 'of ' || p.line || ' it shares turns up to ' || p.high || ', which is '
                || coalesce(t.state, 'not there') || ', and ' || p.messages || ' messages after '
                || p.messages_before || '; there are ' || m.n || ' after ' || before.n || ', and its fork is '
                || s.fork_turn
            FROM stretches p JOIN sessions s ON (s.tenant, s.id) = (p.tenant, p.session_id)
            LEFT JOIN turns t ON (t.tenant, t.session_id, t.number) = (p.tenant, p.line, p.high)
            CROSS JOIN LATERAL (
                SELECT count(*) AS n FROM turns t JOIN messages m
                    ON (m.tenant, m.session_id, m.turn_id) = (t.tenant, t.session_id, t.id)
                WHERE (t.tenant, t.session_id) = (p.tenant, p.line) AND t.number > 0 AND t.number <= p.high
            ) m CROSS JOIN LATERAL (
                SELECT coalesce(sum(o.messages), 0) AS n FROM stretches o
                WHERE (o.tenant, o.session_id) = (p.tenant, p.session_id) AND o.high < p.high
            ) before CROSS JOIN LATERAL (
                SELECT max(o.high) AS high FROM stretches o WHERE (o.tenant, o.session_id) = (p.tenant, p.session_id)
            ) newest
            WHERE s.deleted_at IS NULL AND (t.ended_at IS NULL OR m.n <> p.messages OR before.n <> p.messages_before
                OR newest.high <> s.fork_turn)
        """),
    ),
)
