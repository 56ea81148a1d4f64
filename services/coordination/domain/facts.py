"""The facts that coordination publishes: thin, allow-listed (treadle.coordination.v1.WorkerFact)."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Any, Final

from services.coordination.domain.worker import Worker

TYPE: Final = "worker"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")


def scope_of(session_id: str) -> str:
    """The coordinator's session id as one token of a subject; ids that are none (the seed's REST takes any text) are
    named by their digest."""
    if _TOKEN.fullmatch(session_id):
        return session_id
    return f"x-{hashlib.sha256(session_id.encode()).hexdigest()[:40]}"


def of_worker(worker: Worker, kind: str, event_id: str, actor: str, now: datetime, before: str = "") -> dict[str, Any]:
    """What happened to a worker. `before`: the status that it had, where it changed."""
    return {
        "event_id": event_id,
        "kind": kind,
        "coordinator_session_id": worker.coordinator_id,
        "worker_id": worker.id,
        "name": worker.name,
        "worker_session_id": worker.session_id,
        "from": before,
        "to": worker.status.value,
        "reason": worker.reason,
        "has_result": worker.has_result,
        "partial": worker.partial,
        "late": worker.late,
        "turn_id": worker.spawned_by_turn,
        "actor": actor,
        "time": now.isoformat(),
    }


def of_coordinator(session_id: str, kind: str, event_id: str, actor: str, now: datetime) -> dict[str, Any]:
    """What happened to a coordinator itself: `flag` or `noted`."""
    return {
        "event_id": event_id,
        "kind": kind,
        "coordinator_session_id": session_id,
        "actor": actor,
        "time": now.isoformat(),
    }
