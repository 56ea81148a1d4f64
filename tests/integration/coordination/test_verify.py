"""`verify` of coordination: silent after a busy run, and each rule finds its damage (C.1–C.6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.coordination.adapters.checks import CHECKS
from services.coordination.adapters.injection_rows import PostgresInjections
from services.coordination.adapters.reads import PostgresReads
from services.coordination.adapters.wake import Wake
from services.coordination.application.acting import Command
from services.coordination.application.cancelling import Cancelling
from services.coordination.application.noting import Noting
from services.coordination.application.registering import Registering
from services.coordination.application.reporting import Reporting
from services.coordination.application.running import Beat
from services.coordination.application.statuses import Statuses
from services.coordination.domain.injection import Injection, digest
from services.coordination.domain.worker import Status
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON
from tests.integration.coordination.conftest import Served
from tests.integration.coordination.parts import Parts
from tests.integration.coordination.rows import coordinator, worker
from tests.integration.damaging import UNSENT_FACT, assert_each_is_seen, assert_sound

FIRST, SECOND, GONE = "ses_first", "ses_second", "ses_gone"
MANAGED = ("done", "fails", "runs", "asked", "forced", "launch", "late")


def named(name: str) -> str:
    return f"(SELECT id FROM workers WHERE name = '{name}')"


DAMAGES = {
    "worker-end": "UPDATE workers SET reason = 'timeout' WHERE name = 'done'",
    "worker-standing": "UPDATE workers SET billed_at = now() WHERE name = 'done'",
    "worker-stop": "UPDATE workers SET stop_by = NULL WHERE name = 'asked'",
    "deleted-session": "INSERT INTO deleted_sessions SELECT tenant, session_id, now() FROM workers WHERE name = 'runs'",
    "stop-overdue": "UPDATE workers SET stop_by = now() - interval '1 hour' WHERE name = 'asked'",
    "report-versions": f"DELETE FROM reports WHERE version = 1 AND worker_id = {named('done')}",
    "report-final": f"UPDATE reports SET final = true WHERE worker_id = {named('runs')}",
    "report-told": "UPDATE workers SET partial = NOT partial WHERE name = 'done'",
    "report-collected": "UPDATE workers SET collected_version = 9 WHERE name = 'done'",
    "worker-job": f"UPDATE jobs SET state = 'cancelled', lease_until = NULL WHERE subject = {named('runs')}",
    "job-subject": f"UPDATE jobs SET state = 'queued' WHERE subject = {named('done')}",
    "stop-session": "INSERT INTO stops VALUES ('default', 'ses_nobody', now(), 0)",
    "wake-coordinator": """
        ALTER TABLE wakes DROP CONSTRAINT wakes_tenant_coordinator_id_fkey;
        UPDATE wakes SET coordinator_id = 'ses_nobody'
    """,
    "worker-texts": "UPDATE workers SET name = 'Not a name' WHERE name = 'done'",
    "depth": f"UPDATE workers SET session_id = '{SECOND}' WHERE name = 'done'",
    "caps": f"""
        INSERT INTO workers (tenant, id, coordinator_id, name, kind, status, brief, session_id, spawned_by, created_at,
            updated_at)
        SELECT 'default', 'wrk_' || n, '{FIRST}', 'w' || n, 'session', 'running', 'b', 'ses_' || n, 'x', now(), now()
        FROM generate_series(1, 33) AS n
    """,
    "spent": "UPDATE workers SET tokens = tokens + 1000 WHERE name = 'done'",
    "spent-by-others": f"UPDATE coordinators SET spent_ms = spent_ms + 1 WHERE session_id = '{FIRST}'",
    "notes": f"DELETE FROM notes WHERE coordinator_id = '{FIRST}' AND worker_id = '' AND sequence = 20",
    "note-texts": f"UPDATE notes SET text = repeat('x', 2001) WHERE coordinator_id = '{FIRST}' AND sequence = 30",
    "injections": "UPDATE injections SET text = 'other'",
    "unsent-facts": UNSENT_FACT,
}


@pytest.fixture
async def busy(database: Database, wake: Wake, sessions: Served, reads: PostgresReads) -> Database:
    """After runs that end in every way, notes, reports, registrations, stops, wakes and deletions."""
    parts = Parts(database, wake, sessions.address)
    first = replace(coordinator(FIRST), auto_wake=True)
    gone = coordinator(GONE)
    await parts.put(first, *(worker(first, name) for name in MANAGED))
    await parts.put(gone, worker(gone, "outlives"))
    runs = await parts.take()
    for name in ("done", "runs", "late"):
        job = runs[name].job
        await parts.running.heartbeat(job.id, job.fence, Beat(said=True, tokens=7))
        assert await parts.running.report(job.id, job.fence, f"so far {name}") == 1
    parts.clock.go(2)
    await parts.put(first, worker(first, "queued"))
    command = Command(PERSON, FIRST, "", b"")
    cancelling = Cancelling(parts.workshop, parts.clock)
    await cancelling.cancel(command, "forced", "")
    parts.clock.go(31)
    await parts.times_are_over()
    await cancelling.cancel(command, "asked", "")
    for name, reason, text in (("done", "completed", "## Result\nAll."), ("fails", "failed", ""), ("launch", "", "")):
        job = runs[name].job
        await parts.running.complete(job.id, job.fence, reason or "launch_failed", text, 9, "")
    await parts.turn_ends(FIRST, "trn_1")
    job = runs["late"].job
    await parts.running.complete(job.id, job.fence, "completed", "late", 9, "")
    noting = Noting(parts.workshop, reads, parts.clock)
    for number in range(52):
        await noting.add(command, "", f"note {number}")
    await noting.add(command, "done", "of a thread")
    registering = Registering(parts.workshop, parts.clock, new_id)
    for session, name in ((FIRST, "watched"), (FIRST, "finished"), (SECOND, "second")):
        await registering.register(Command(PERSON, session, "", b""), name, new_id("ses"), "watch")
    await Statuses(parts.workshop, parts.clock).set(command, "watched", Status.FAILED)
    await Reporting(parts.workshop, parts.clock).report(command, "finished", "That was it.", True)
    told = Injection(FIRST, "trn_1", "coordinator", "who is there", digest("who is there"), parts.clock.now())
    await PostgresInjections(database).keep("default", told)
    await parts.hear(GONE, "deleted")
    return database


async def test_a_busy_database_is_sound(busy: Database) -> None:
    verdict = await assert_sound(busy, CHECKS)
    assert verdict.looked_at["workers"] == len(MANAGED) + 5


async def test_each_rule_finds_its_damage_and_no_other_one_does(busy: Database) -> None:
    await assert_each_is_seen(busy, CHECKS, DAMAGES)
