"""Workspaces as they are now (C4, C5, P.1): plans without holes, documents that are what they say, one newest turn."""

from __future__ import annotations

from typing import Final

from services.kernel.verifying import Rule, asked
from services.planning.domain import limits

WORKSPACES: Final = (
    Rule(
        "plan-positions",
        f"the positions of a plan are 0..n-1, and it has at most {limits.STEPS_MOST} steps",
        asked(f"""
            SELECT tenant, session_id, 'it has ' || count(*) || ' steps at ' || min(position) || '..' || max(position)
            FROM steps GROUP BY tenant, session_id
            HAVING min(position) <> 0 OR max(position) <> count(*) - 1 OR count(*) > {limits.STEPS_MOST}
        """),
    ),
    Rule(
        "plan-steps",
        f"a step has a text of 1..{limits.STEP_TEXT_MOST} characters, a depth of 0..{limits.DEPTH_MOST} and an origin",
        asked(f"""
            SELECT tenant, session_id, 'step ' || position || ' has a text of ' || char_length(text)
                || ' characters, depth ' || depth || ', origin ' || origin_id
            FROM steps WHERE btrim(text, E' \\t\\n\\r') = '' OR char_length(text) > {limits.STEP_TEXT_MOST}
                OR depth NOT BETWEEN 0 AND {limits.DEPTH_MOST} OR origin_id = ''
        """),
    ),
    Rule(
        "objective",
        "an objective is one line, and somebody set it",
        asked(f"""
            SELECT tenant, session_id, 'objective of ' || char_length(objective) || ' characters, version '
                || objective_version || ', by ' || CASE objective_by WHEN '' THEN 'nobody' ELSE objective_by END
            FROM workspaces
            WHERE objective ~ E'[\\n\\r\\t]' OR char_length(objective) > {limits.OBJECTIVE_MOST}
                OR (objective_version = 0) <> (objective_by = '') OR (objective <> '' AND objective_by = '')
        """),
    ),
    Rule(
        "document-content",
        "a document's size and SHA-256 are those of its content, its own or a kept one; its key is one word",
        asked("""
            SELECT d.tenant, d.session_id, 'document ' || left(d.key, 80) || ' says ' || d.size || ' bytes of '
                || d.sha256 || ', and has '
                || coalesce(octet_length(h.held) || ' of ' || encode(sha256(h.held), 'hex'), 'none')
            FROM documents d JOIN workspaces w ON (w.tenant, w.session_id) = (d.tenant, d.session_id)
            LEFT JOIN blobs b ON (b.tenant, b.family, b.sha256) = (w.tenant, w.family, d.sha256) AND d.content IS NULL
            CROSS JOIN LATERAL (SELECT coalesce(convert_to(d.content, 'UTF8'), b.data) AS held) h
            WHERE h.held IS NULL OR d.size <> octet_length(h.held) OR d.sha256 <> encode(sha256(h.held), 'hex')
                OR d.key COLLATE "C" !~ '^[A-Za-z0-9_.-]{1,64}$'
        """),
    ),
    Rule(
        "document-lock",
        "no agent wrote a document that is locked",
        asked("""
            SELECT tenant, session_id, 'document ' || key || ' is locked and was written by an agent'
            FROM documents WHERE locked AND updated_by = 'agent'
        """),
    ),
    Rule(
        "documents",
        f"a workspace has at most {limits.DOCUMENTS_MOST} documents of {limits.DOCUMENTS_BYTES_MOST} bytes",
        asked(f"""
            SELECT tenant, session_id, 'it has ' || count(*) || ' documents of ' || sum(size) || ' bytes at '
                || min(position) || '..' || max(position)
            FROM documents GROUP BY tenant, session_id
            HAVING min(position) < 0 OR count(*) > {limits.DOCUMENTS_MOST} OR sum(size) > {limits.DOCUMENTS_BYTES_MOST}
        """),
    ),
    Rule(
        "newest-turn",
        "a workspace names its newest turn, and runs exactly where that one does",
        asked("""
            SELECT w.tenant, w.session_id, 'it names turn ' || w.turn || ' ' || w.turn_id
                || CASE WHEN w.running THEN ' as running' ELSE '' END || ', its newest is '
                || coalesce(t.number || ' ' || t.turn_id || CASE WHEN t.running THEN ', running' ELSE '' END, 'none')
            FROM workspaces w LEFT JOIN LATERAL (
                SELECT t.number, t.turn_id, t.running FROM stretches r
                JOIN turns t ON (t.tenant, t.line) = (r.tenant, r.line) AND t.number > r.low AND t.number <= r.high
                WHERE (r.tenant, r.session_id) = (w.tenant, w.session_id)
                ORDER BY t.number DESC LIMIT 1
            ) t ON true
            WHERE w.turn <> coalesce(t.number, 0) OR w.turn_id <> coalesce(t.turn_id, '')
                OR w.running <> coalesce(t.running, false)
        """),
    ),
    Rule(
        "running-turn",
        "a turn that runs is the newest one of a workspace that exists",
        asked("""
            SELECT t.tenant, t.line, 'turn ' || t.number || ' ' || t.turn_id || ' runs, its workspace '
                || coalesce('is at turn ' || w.turn, 'is gone')
            FROM turns t LEFT JOIN workspaces w ON (w.tenant, w.session_id) = (t.tenant, t.line)
            WHERE t.running AND (w.session_id IS NULL OR w.turn <> t.number OR NOT w.running)
        """),
    ),
    Rule(
        "deleted-workspace",
        "what was deleted is gone",
        asked("""
            SELECT w.tenant, w.session_id, 'it was deleted at ' || d.deleted_at || ' and is there'
            FROM workspaces w JOIN deleted_workspaces d ON (d.tenant, d.session_id) = (w.tenant, w.session_id)
        """),
    ),
)
