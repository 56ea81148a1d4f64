"""A worker takes its name: one name, one worker of a coordinator, but for a name whose launch failed (A4, PUB09)."""

from __future__ import annotations

from dataclasses import replace

from services.coordination.application.work import Work
from services.coordination.domain import errors, limits
from services.coordination.domain.worker import Coordinator, Reason, Worker


def gives_its_name(worker: Worker) -> bool:
    """Whether nothing was ever done under this name: its launch failed, its agent said nothing, nothing is stored."""
    return worker.reason == Reason.LAUNCH_FAILED and not worker.said and worker.report_version == 0


async def _check_caps(work: Work, coordinator: Coordinator, one_goes: bool) -> None:
    """TOO_MANY_THREADS for one more than may be at work, or than there may ever be; the coordinator is locked."""
    live, total = await work.count_workers(coordinator.tenant, coordinator.session_id)
    if total - one_goes >= limits.WORKERS_MOST:
        raise errors.too_many_threads(limits.WORKERS_MOST, "workers in all")
    if live >= limits.LIVE_MOST:
        raise errors.too_many_threads(limits.LIVE_MOST, "workers that have not ended")


async def place(work: Work, coordinator: Coordinator, made: Worker) -> Worker:
    """Inserts the worker; the coordinator is locked. NAME_TAKEN, TOO_MANY_THREADS, WORKER_ALREADY_REGISTERED. A name
    whose launch failed is used again, and its notes go on."""
    old = await work.worker(made.tenant, made.coordinator_id, made.name)
    if old is not None and not gives_its_name(old):
        raise errors.name_taken(made.name)
    await _check_caps(work, coordinator, one_goes=old is not None)
    if old is not None:
        await work.drop_worker(old)
        made = replace(made, note_seq=old.note_seq)
    if not await work.insert_worker(made):
        raise errors.already_registered(made.session_id)
    if old is not None:
        await work.move_notes(old, made)
    return made
