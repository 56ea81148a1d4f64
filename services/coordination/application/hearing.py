"""What is heard of sessions: a turn that ended, a session that is gone, and what that means for workers (C.2).

Facts come in any order and may come late: each says for itself what is true from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from services.coordination.application.ending import SYSTEM, WAKE_AFTER, End, end_worker
from services.coordination.application.run_ports import RunWork
from services.coordination.application.stopping import stop_all
from services.coordination.domain.worker import Reason
from services.kernel.clock import Clock

_ENDED: Final = frozenset({"idle", "failed"})


class Hearing:
    """`hear` runs in the transaction that remembers the fact."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def hear(self, work: RunWork, tenant: str, payload: Mapping[str, Any]) -> None:
        """A fact of type `session`."""
        session_id, kind = _text(payload, "session_id"), _text(payload, "kind")
        now = self._clock.now()
        if not session_id:
            return
        if kind == "deleted":
            await self._deleted(work, tenant, session_id, now)
        elif kind == "turn" and _text(payload, "to") in _ENDED and _text(payload, "turn_id"):
            await self._turn_ended(work, tenant, session_id, payload, now)

    async def _turn_ended(
        self, work: RunWork, tenant: str, session_id: str, payload: Mapping[str, Any], now: datetime
    ) -> None:
        turn_id, outcome = _text(payload, "turn_id"), _text(payload, "outcome") or "ok"
        # Under the coordinator's lock: a spawn that is being committed comes before or after it, not in between.
        coordinator = await work.coordinator(tenant, session_id)
        first = await work.note_turn_end(tenant, session_id, turn_id, outcome, now)
        if coordinator is None or not first:
            return
        late = await work.mark_late(tenant, session_id, turn_id, _time(payload, now))
        if late and coordinator.auto_wake and coordinator.enabled and not coordinator.deleted:
            await work.want_wake(tenant, session_id, now + WAKE_AFTER)
        await work.hasten_wake(tenant, session_id, now + WAKE_AFTER)
        if outcome == "aborted":
            await stop_all(work, coordinator, Reason.CANCELLED, _text(payload, "actor") or SYSTEM, now, turn_id)

    async def _deleted(self, work: RunWork, tenant: str, session_id: str, now: datetime) -> None:
        # A registration of this session that is being committed comes before or after it, too.
        await work.hold_sessions(tenant, session_id)
        coordinator = await work.coordinator(tenant, session_id)
        if not await work.note_session_deleted(tenant, session_id, now):
            return
        if coordinator is not None and not coordinator.deleted:
            await work.save_coordinator(replace(coordinator, deleted=True, updated_at=now))
            await stop_all(work, replace(coordinator, deleted=True), Reason.CANCELLED, SYSTEM, now)
        await self._worker_deleted(work, tenant, session_id, now)

    async def _worker_deleted(self, work: RunWork, tenant: str, session_id: str, now: datetime) -> None:
        """A worker whose session is gone cannot go on."""
        worker = await work.worker_of_session(tenant, session_id)
        if worker is None:
            return
        coordinator = await work.coordinator(tenant, worker.coordinator_id)
        worker = await work.worker_by_id(tenant, worker.id)
        if coordinator is not None and worker is not None and not worker.ended:
            reason = Reason(worker.stop_reason) if worker.stop_reason else Reason.INTERRUPTED
            await end_worker(work, coordinator, worker, End(reason), SYSTEM, now)


def _time(payload: Mapping[str, Any], now: datetime) -> datetime:
    try:
        at = datetime.fromisoformat(_text(payload, "time"))
    except ValueError:
        return now
    return at if at.tzinfo is not None else now


def _text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""
