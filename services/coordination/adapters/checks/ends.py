"""Where workers stand and how they ended (C.3): one status a reason, and nothing of a run goes on behind an end."""

from __future__ import annotations

from typing import Final

from services.coordination.domain.worker import STATUS_OF
from services.kernel.verifying import Rule, asked

_PAIRS: Final = ", ".join(f"('{status}', '{reason}')" for reason, status in STATUS_OF.items())

ENDS: Final = (
    Rule(
        "worker-end",
        "every end has a reason, and the status that this reason ends in",
        asked(f"""
            SELECT tenant, id, name || ' ended as ' || status || ' because of ' || reason
            FROM workers WHERE ended_at IS NOT NULL AND (status, reason) NOT IN (VALUES {_PAIRS})
        """),
    ),
    Rule(
        "worker-standing",
        "who has ended is not billed and waits for nobody; who waits runs; late is an end after a turn",
        asked("""
            SELECT tenant, id, concat_ws(', ',
                name || ' is ' || status,
                CASE WHEN billed_at IS NOT NULL AND ended_at IS NOT NULL THEN 'and is still billed' END,
                CASE WHEN waiting AND status <> 'running' THEN 'and waits for a person' END,
                CASE WHEN late AND (ended_at IS NULL OR spawned_by_turn = '') THEN 'and late' END)
            FROM workers
            WHERE (billed_at IS NOT NULL AND ended_at IS NOT NULL) OR (waiting AND status <> 'running')
                OR (late AND (ended_at IS NULL OR spawned_by_turn = ''))
        """),
    ),
    Rule(
        "worker-stop",
        "a stop that was asked for has a reason and a time",
        asked("""
            SELECT tenant, id, name || ' is to stop because of ' || stop_reason || ' by '
                || coalesce(stop_by::text, '?')
            FROM workers
            WHERE stop_reason <> ''
                AND (stop_by IS NULL OR stop_reason NOT IN ('cancelled', 'timeout', 'budget_exhausted'))
        """),
    ),
    Rule(
        "deleted-session",
        "no worker goes on in a deleted session, and none unasked to stop under a deleted coordinator",
        asked("""
            SELECT w.tenant, w.id, w.name || ' is ' || w.status
                || CASE WHEN d.session_id IS NULL THEN ' under a deleted coordinator' ELSE ' in a deleted session' END
            FROM workers w
            JOIN coordinators c ON (c.tenant, c.session_id) = (w.tenant, w.coordinator_id)
            LEFT JOIN deleted_sessions d ON (d.tenant, d.session_id) = (w.tenant, w.session_id)
            WHERE w.ended_at IS NULL AND (d.session_id IS NOT NULL OR (c.deleted AND w.stop_reason = ''))
        """),
    ),
    Rule(
        "stop-overdue",
        "stops are heeded, or forced, within their time",
        asked("""
            SELECT tenant, id, name || ' should have stopped by ' || stop_by
            FROM workers WHERE ended_at IS NULL AND stop_by < now() - interval '1 minute'
        """),
        information=True,
    ),
)
