"""A worker is not needed any more: somebody says so, and application/stopping.py does it (C.3)."""

from __future__ import annotations

from dataclasses import replace

from services.coordination.application.acting import Command
from services.coordination.application.stopping import ask_stop
from services.coordination.application.work import Workshop
from services.coordination.domain import errors, limits
from services.coordination.domain.worker import Reason
from services.kernel.clock import Clock
from services.kernel.telemetry import get_logger

_log = get_logger("coordination.cancelling")


class Cancelling:
    """The use case."""

    def __init__(self, workshop: Workshop, clock: Clock) -> None:
        self._workshop = workshop
        self._clock = clock

    async def cancel(self, command: Command, thread_name: str, why: str) -> None:
        """WORKER_ENDED for one that has ended; asking twice is asking once, and the first one's `why` is kept."""
        why = limits.cancel_reason(why)
        async with self._workshop.work() as work:
            if await command.remembered(work, "CancelWorker") is not None:
                return
            coordinator = await work.coordinator(command.tenant, command.session_id)
            if coordinator is None:
                raise errors.coordinator_not_found(command.session_id)
            worker = await work.worker(command.tenant, command.session_id, thread_name)
            if worker is None:
                raise errors.worker_not_found(thread_name)
            if worker.ended:
                raise errors.worker_ended(worker)
            told = replace(worker, cancel_reason=why)
            await ask_stop(work, coordinator, told, Reason.CANCELLED, command.by, self._clock.now())
            await work.store(b"")
        _log.info("worker.cancelled", worker=worker.id, by=command.by)
