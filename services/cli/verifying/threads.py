"""Every thread of a database, rebuilt from its events: the checks of the threads service as one verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from services.kernel.postgres import Database
from services.kernel.verifying import FINDINGS_MOST, Finding, Verdict
from services.threads.adapters.stored import all_stored
from services.threads.application.verifying import CHECKS, faults

_SERVICE: Final = "threads"
_RULE: Final = "thread"


async def look(database: Database, thread_done: Callable[[], None]) -> Verdict:
    """A page at a time; FINDINGS_MOST findings are kept, the others counted."""
    findings: list[Finding] = []
    tenants: set[str] = set()
    looked_at = {"threads": 0, "events": 0, "families": 0, "tenants": 0}
    unlisted = 0
    async for stored in all_stored(database):
        thread_id = stored.thread.thread_id
        for fault in faults(stored):
            if len(findings) < FINDINGS_MOST:
                words = fault.removeprefix(f"{thread_id}: ")
                findings.append(Finding(_SERVICE, stored.tenant, thread_id, _RULE, words))
            else:
                unlisted += 1
        tenants.add(stored.tenant)
        looked_at["threads"] += 1
        looked_at["events"] += len(stored.events)
        looked_at["families"] += bool(stored.thread.children)
        thread_done()
    looked_at["tenants"] = len(tenants)
    return Verdict(_SERVICE, looked_at, CHECKS, findings, unlisted=unlisted)
