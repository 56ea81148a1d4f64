"""What a database of coordination can be asked by `verify`. What constraints and unique indexes hold is not asked
again: one name and one session a worker, one final report, one live job, notes and reports of somebody."""

from __future__ import annotations

from typing import Final

from services.coordination.adapters.checks.ends import ENDS
from services.coordination.adapters.checks.reports import REPORTS
from services.coordination.adapters.checks.rosters import ROSTERS
from services.coordination.adapters.checks.runs import RUNS
from services.kernel.verifying import UNSENT_FACTS, Checks

CHECKS: Final = Checks(
    "coordination",
    {
        name: f"SELECT count(*) FROM {name}"
        for name in ("coordinators", "workers", "reports", "notes", "injections", "jobs")
    },
    (*ENDS, *REPORTS, *RUNS, *ROSTERS, UNSENT_FACTS),
)
