"""Coordinators and workers as a test puts them into the database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from services.coordination.domain.worker import Coordinator, Kind, Status, Worker
from services.kernel.ids import new_id

# Lately: what is old is forgotten by the service's own purge. To the microsecond, so that nothing is rounded away.
NOW = (datetime.now(UTC) - timedelta(minutes=5)).replace(microsecond=123456)
TENANT = "default"


def coordinator(session_id: str | None = None, **changes: Any) -> Coordinator:
    """One with thread mode on."""
    made = Coordinator(TENANT, session_id or new_id("ses"), True, NOW, NOW)
    return replace(made, **changes)


def worker(of: Coordinator, name: str = "alpha", **changes: Any) -> Worker:
    """A managed one, spawned by the turn `trn_1`, which no runner has taken."""
    made = Worker(
        tenant=of.tenant,
        id=new_id("wrk"),
        coordinator_id=of.session_id,
        name=name,
        kind=Kind.SUBAGENT,
        status=Status.SPAWNING,
        brief=f"do {name}",
        session_id=new_id("ses"),
        spawned_by="user:local",
        created_at=NOW,
        updated_at=NOW,
        spawned_by_turn="trn_1",
        job_id=new_id("job"),
        thinking="medium",
        adapter="scripted",
    )
    return replace(made, **changes)


def later(seconds: float) -> datetime:
    """So long after NOW."""
    return NOW + timedelta(seconds=seconds)
