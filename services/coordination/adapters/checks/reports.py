"""Reports as a mailbox (C.4): versions without holes, the final one last, and the worker's row says what is there."""

from __future__ import annotations

from typing import Final

from services.kernel.verifying import Rule, asked

REPORTS: Final = (
    Rule(
        "report-versions",
        "the versions of a worker's reports are 1..n, and n stands in its row",
        asked("""
            SELECT w.tenant, w.id, w.name || ' has ' || count(r.version) || ' reports up to version '
                || coalesce(max(r.version), 0) || ', its row says ' || w.report_version
            FROM workers w LEFT JOIN reports r ON (r.tenant, r.worker_id) = (w.tenant, w.id)
            GROUP BY w.tenant, w.id
            HAVING count(r.version) <> w.report_version OR coalesce(max(r.version), 0) <> w.report_version
        """),
    ),
    Rule(
        "report-final",
        "a final report is the newest one, of a worker that has ended",
        asked("""
            SELECT w.tenant, w.id, w.name || ' is ' || w.status || ' with a final report of version ' || r.version
                || ' of ' || w.report_version
            FROM reports r JOIN workers w ON (w.tenant, w.id) = (r.tenant, r.worker_id)
            WHERE r.final AND (w.ended_at IS NULL OR r.version <> w.report_version)
        """),
    ),
    Rule(
        "report-told",
        "has_result says whether there is a report, partial whether it is less than the whole result",
        asked("""
            SELECT w.tenant, w.id, w.name || ': has_result ' || w.has_result || ', partial ' || w.partial || ', '
                || w.status || ', report ' || w.report_version || CASE WHEN r.final THEN ' final' ELSE '' END
            FROM workers w
            LEFT JOIN reports r ON (r.tenant, r.worker_id, r.version) = (w.tenant, w.id, w.report_version)
            WHERE w.has_result <> (w.report_version > 0)
                OR w.partial <> (w.has_result AND NOT (w.status = 'succeeded' AND coalesce(r.final, false)))
        """),
    ),
    Rule(
        "report-collected",
        "nothing was collected that was not reported",
        asked("""
            SELECT tenant, id, name || ' was collected up to ' || collected_version || ' of ' || report_version
            FROM workers WHERE collected_version NOT BETWEEN 0 AND report_version
        """),
    ),
)
