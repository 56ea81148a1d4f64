"""Gates, the ledger and messages (S.6, S.7): a turn waits exactly while a gate is open; nothing is doubled or lost."""

from __future__ import annotations

from typing import Final

from services.kernel.verifying import Rule, asked

GATES: Final = (
    Rule(
        "waiting",
        "a session waits exactly while a gate of its turn is open",
        asked("""
            SELECT s.tenant, s.id, 'it is ' || s.state || ' at ' || s.turn_id || ' with ' || count(g.id)
                || ' open gates, '
                || count(g.id) FILTER (WHERE g.turn_id <> s.turn_id) || ' of other turns'
            FROM sessions s LEFT JOIN gates g ON (g.tenant, g.session_id) = (s.tenant, s.id) AND g.state = 'open'
            WHERE s.deleted_at IS NULL
            GROUP BY s.tenant, s.id
            HAVING (s.state = 'waiting') <> (count(g.id) > 0) OR bool_or(g.turn_id <> s.turn_id)
        """),
    ),
    Rule(
        "ledger-sequence",
        "the entries of a ledger are 1..n",
        asked("""
            SELECT tenant, session_id, count(*) || ' entries up to ' || max(sequence)
            FROM ledger GROUP BY tenant, session_id HAVING count(*) <> max(sequence)
        """),
    ),
    Rule(
        "ledger-gate",
        "an entry of the ledger is what its answered gate proposed, whole; and every set that was accepted is there",
        asked("""
            SELECT coalesce(l.tenant, g.tenant), coalesce(l.session_id, g.session_id), 'gate '
                || coalesce(l.gate_id, g.id) || coalesce(' is ' || g.state, ' is not there') || ', its entry '
                || coalesce(l.sequence::text, 'is not there')
            FROM ledger l FULL JOIN (
                SELECT * FROM gates WHERE kind = 'join-review' AND answer ->> 'value' = 'continue'
            ) g ON (g.tenant, g.session_id, g.id) = (l.tenant, l.session_id, l.gate_id)
            WHERE l.gate_id IS NULL OR g.id IS NULL OR g.state <> 'answered' OR l.joins <> g.proposal -> 'joins'
        """),
    ),
    Rule(
        "message-sequence",
        "the messages of a session are 1..n",
        asked("""
            SELECT tenant, session_id, count(*) || ' messages up to ' || max(sequence)
            FROM messages GROUP BY tenant, session_id HAVING count(*) <> max(sequence)
        """),
    ),
    Rule(
        "message-turn",
        "messages are of turns that have ended",
        asked("""
            SELECT m.tenant, m.session_id, 'message ' || m.sequence || ' is of turn ' || m.turn_id || ', which is '
                || coalesce(t.state, 'not there')
            FROM messages m LEFT JOIN turns t ON (t.tenant, t.session_id, t.id) = (m.tenant, m.session_id, m.turn_id)
            WHERE t.ended_at IS NULL
        """),
    ),
    Rule(
        "turn-messages",
        "a turn that ended has the words that it began with, and one that ended well has an answer",
        asked("""
            SELECT t.tenant, t.session_id, 'turn ' || t.id || ' ended ' || t.outcome || ' with '
                || coalesce(string_agg(m.role, ' and ' ORDER BY m.sequence), 'no message')
            FROM turns t LEFT JOIN messages m ON (m.tenant, m.session_id, m.turn_id) = (t.tenant, t.session_id, t.id)
            WHERE t.ended_at IS NOT NULL AND t.begun
            GROUP BY t.tenant, t.session_id, t.id
            HAVING count(*) FILTER (WHERE m.role = 'user') = 0
                OR (t.outcome = 'ok' AND count(*) FILTER (WHERE m.role = 'assistant') = 0)
        """),
    ),
)
