"""The status of a registered worker, as somebody outside tells it; ends stay (A2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from services.coordination.application.acting import Command, worker_thread_of
from services.coordination.application.ending import End, end_worker
from services.coordination.application.work import Workshop
from services.coordination.domain import errors
from services.coordination.domain.worker import ENDS, Kind, Reason, Status, may_follow
from services.kernel.clock import Clock
from services.kernel.errors import Invalid

_REASON_OF: Final = {
    Status.SUCCEEDED: Reason.COMPLETED,
    Status.FAILED: Reason.FAILED,
    Status.CANCELLED: Reason.CANCELLED,
    Status.INTERRUPTED: Reason.INTERRUPTED,
}


class Statuses:
    """The use case."""

    def __init__(self, workshop: Workshop, clock: Clock) -> None:
        self._workshop = workshop
        self._clock = clock

    async def set(self, command: Command, thread_name: str, to: Status) -> tuple[str, str]:
        """Answers (coordinator, name). What it is already changes nothing; WORKER_ENDED for another status after the
        end, WORKER_MANAGED for a worker that Treadle runs."""
        if to is Status.SPAWNING:
            message = "status must be running, unknown or an end"
            raise Invalid("INVALID_ARGUMENT", message, field="status")
        async with self._workshop.work() as work:
            said = await command.remembered(work, "SetWorkerStatus")
            coordinator, worker = await worker_thread_of(work, command.tenant, command.session_id, thread_name)
            if worker.kind is not Kind.SESSION:
                raise errors.worker_managed(worker)
            names = (coordinator.session_id, worker.name)
            if said is not None:
                return names
            now = self._clock.now()
            if to is worker.status:
                pass
            elif not may_follow(worker.status, to):
                raise errors.worker_ended(worker)
            elif to in ENDS:
                await end_worker(work, coordinator, worker, End(_REASON_OF[to]), command.by, now)
            else:
                moved = replace(worker, status=to, updated_at=now)
                await work.save_worker(moved)
                await work.fact(moved, to.value, command.by, now, before=worker.status)
            await work.store(b"")
            return names
