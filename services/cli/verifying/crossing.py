"""What two databases say of one session. Each is read a moment apart from the other, so that whatever looks wrong is
looked at once more before it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, Protocol

from services.cli.verifying.branches import HalfBranches
from services.cli.verifying.workers import WorkerSessions
from services.cli.verifying.workspaces import Workspaces
from services.kernel.postgres import Database
from services.kernel.verifying import FINDINGS_MOST, Finding, Verdict

SERVICE: Final = "across"
BETWEEN: Final = 2.0
"""Seconds between the looks: what is on its way from one service to the other has come by then."""

Suspect = tuple[str, str, str, str]
"""Tenant, id, rule, words."""


class Crossing(Protocol):
    """A comparison of two databases."""

    name: str
    says: Sequence[str]
    compared: int

    def look(self, keys: Sequence[tuple[str, str]] | None = None) -> AsyncIterator[Suspect]:
        """What looks wrong now: anywhere, or of these (tenant, id) alone."""
        ...


async def across(databases: Mapping[str, Database], between: float = BETWEEN) -> Verdict | None:
    """What holds between the services that are there; None where no two of them are."""
    crossings: list[Crossing] = []
    streaming, planning = databases.get("streaming"), databases.get("planning")
    coordination = databases.get("coordination")
    if streaming is not None and planning is not None:
        crossings += [Workspaces(planning, streaming), HalfBranches(planning, streaming)]
    if streaming is not None and coordination is not None:
        crossings.append(WorkerSessions(coordination, streaming))
    if not crossings:
        return None
    findings: list[Finding] = []
    unlisted = 0
    for crossing in crossings:
        found, more = await twice(crossing, between)
        findings += found
        unlisted += more
    looked_at = {one.name: one.compared for one in crossings}
    return Verdict(SERVICE, looked_at, [says for one in crossings for says in one.says], findings, (), unlisted)


async def twice(crossing: Crossing, between: float) -> tuple[list[Finding], int]:
    """What is wrong at both looks. Of more suspects than are kept the others are counted, unconfirmed."""
    first: set[tuple[str, str, str]] = set()
    more = 0
    async for tenant, subject, rule, _ in crossing.look():
        if len(first) < FINDINGS_MOST:
            first.add((tenant, subject, rule))
        else:
            more += 1
    if not first:
        return [], 0
    await asyncio.sleep(between)
    keys = sorted({(tenant, subject) for tenant, subject, _ in first})
    found = [
        Finding(SERVICE, tenant, subject, rule, words)
        async for tenant, subject, rule, words in crossing.look(keys)
        if (tenant, subject, rule) in first
    ]
    return found, more if found else 0
