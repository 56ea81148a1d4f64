"""Runs of managed workers (C.2, C.3): who is to be worked on has exactly one live job, and nobody else has one."""

from __future__ import annotations

from typing import Final

from services.coordination.adapters.work import JOB_KIND
from services.kernel.verifying import Rule, asked

_LIVE: Final = "j.state IN ('queued', 'leased')"

RUNS: Final = (
    Rule(
        "worker-job",
        "a managed worker that spawns or runs has its own live job; one that spawns was never launched",
        asked(f"""
            SELECT w.tenant, w.id, w.name || ' is ' || w.status || ' after ' || w.launches
                || ' launches, its live job is '
                || coalesce(j.id || ' (' || j.kind || ', ' || j.state || ')', 'missing')
            FROM workers w LEFT JOIN jobs j ON (j.tenant, j.subject) = (w.tenant, w.id) AND {_LIVE}
            WHERE w.kind = 'subagent' AND w.ended_at IS NULL AND (
                j.id IS DISTINCT FROM w.job_id OR j.kind <> '{JOB_KIND}'
                OR (w.status = 'spawning') <> (w.launches = 0)
                OR (w.status = 'spawning' AND j.state = 'leased'))
        """),
    ),
    Rule(
        "job-subject",
        "a live job is that of a managed worker that has not ended",
        asked(f"""
            SELECT j.tenant, j.id, 'it is ' || j.state || ', its worker '
                || coalesce(w.name || ' is ' || w.status, 'is gone')
            FROM jobs j LEFT JOIN workers w ON (w.tenant, w.id) = (j.tenant, j.subject)
            WHERE {_LIVE} AND (w.id IS NULL OR w.ended_at IS NOT NULL OR w.kind <> 'subagent')
        """),
    ),
    Rule(
        "stop-session",
        "a session that is to be aborted is that of a managed worker that has ended",
        asked("""
            SELECT s.tenant, s.session_id, 'it is to be aborted, its worker '
                || coalesce(w.name || ' is ' || w.status, 'is gone')
            FROM stops s LEFT JOIN workers w ON (w.tenant, w.session_id) = (s.tenant, s.session_id)
            WHERE w.id IS NULL OR w.ended_at IS NULL OR w.kind <> 'subagent'
        """),
    ),
    Rule(
        "wake-coordinator",
        "a wake is that of a coordinator that exists",
        asked("""
            SELECT k.tenant, k.coordinator_id, 'there is no such coordinator to wake'
            FROM wakes k LEFT JOIN coordinators c ON (c.tenant, c.session_id) = (k.tenant, k.coordinator_id)
            WHERE c.session_id IS NULL
        """),
    ),
)
