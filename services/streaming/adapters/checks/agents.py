"""Agents (S.5, S.7): who is there has a live job, commands are numbered, states are what their digests say."""

from __future__ import annotations

from typing import Final

from services.kernel.verifying import Rule, asked

_LIVE: Final = "j.state IN ('queued', 'leased')"

AGENTS: Final = (
    Rule(
        "agent-job",
        "an agent that is there, or wanted, has its own live job; a live one is leased",
        asked(f"""
            SELECT s.tenant, s.id, 'its agent is ' || s.agent || ' by job '
                || CASE s.job_id WHEN '' THEN 'none' ELSE s.job_id END || ', its live job is '
                || coalesce(j.id || ' (' || j.kind || ', ' || j.state || ')', 'missing')
            FROM sessions s LEFT JOIN jobs j ON (j.tenant, j.subject) = (s.tenant, s.id) AND {_LIVE}
            WHERE s.deleted_at IS NULL AND CASE s.agent
                WHEN 'none' THEN s.job_id <> '' OR j.id IS NOT NULL
                ELSE j.id IS DISTINCT FROM s.job_id OR j.kind <> 'session.' || s.adapter
                    OR (s.agent = 'live' AND j.state <> 'leased') END
        """),
    ),
    Rule(
        "job-session",
        "a live job is that of a session that is there",
        asked(f"""
            SELECT j.tenant, j.id, 'it is ' || j.state || ', its session ' || j.subject
                || CASE WHEN s.id IS NULL THEN ' is gone' ELSE ' was deleted' END
            FROM jobs j LEFT JOIN sessions s ON (s.tenant, s.id) = (j.tenant, j.subject)
            WHERE {_LIVE} AND (s.id IS NULL OR s.deleted_at IS NOT NULL)
        """),
    ),
    Rule(
        "commands",
        "the commands of a session are 1..n, and n stands in its row",
        asked("""
            SELECT s.tenant, s.id, count(c.sequence) || ' commands up to ' || coalesce(max(c.sequence), 0)
                || ', its row says ' || s.command_seq
            FROM sessions s LEFT JOIN session_commands c ON (c.tenant, c.session_id) = (s.tenant, s.id)
            WHERE s.purged_at IS NULL
            GROUP BY s.tenant, s.id
            HAVING count(c.sequence) <> s.command_seq OR coalesce(max(c.sequence), 0) <> s.command_seq
        """),
    ),
    Rule(
        "state-digest",
        "an agent's state is what its digest says",
        asked("""
            SELECT tenant, session_id, 'state ' || digest || ' is ' || encode(sha256(data), 'hex')
            FROM agent_states WHERE digest <> encode(sha256(data), 'hex')
        """),
    ),
    Rule(
        "state-kept",
        "the states that turns ended with are there, and the one that a session goes on from is its own",
        asked("""
            SELECT s.tenant, s.id, 'it goes on from state ' || s.agent_state || ', which it does not have'
            FROM sessions s
            WHERE s.deleted_at IS NULL AND s.agent_state <> '' AND NOT EXISTS (SELECT FROM agent_states a
                WHERE (a.tenant, a.session_id, a.digest) = (s.tenant, s.id, s.agent_state))
            UNION ALL
            SELECT t.tenant, t.session_id, 'turn ' || t.id || ' ended with state ' || t.agent_state || ', which is gone'
            FROM turns t JOIN sessions s ON (s.tenant, s.id) = (t.tenant, t.session_id)
            WHERE t.agent_state <> ''
                AND (s.deleted_at IS NULL OR EXISTS (SELECT FROM stretches p
                    WHERE (p.tenant, p.line) = (t.tenant, t.session_id) AND p.high >= t.number))
                AND NOT EXISTS (SELECT FROM agent_states a WHERE (a.tenant, a.digest) = (t.tenant, t.agent_state))
        """),
    ),
    Rule(
        "stream-tail",
        "the tail that is recorded is not ahead of the stream's generation",
        asked("""
            SELECT tenant, id, 'its tail is ' || tail_generation || '-' || tail_n || ', its generation ' || generation
            FROM sessions WHERE tail_generation > generation
        """),
    ),
    Rule(
        "unsent-events",
        "events are in their session's stream within a minute",
        asked("""
            SELECT tenant, session_id, count(*) || ' events wait since ' || min(created_at)
            FROM session_outbox WHERE sent_seq IS NULL AND created_at < now() - interval '1 minute'
            GROUP BY tenant, session_id
        """),
        information=True,
    ),
)
