"""How a worker ends, whoever says so: once, with reason, text and a fact; its job, budget, session and coordinator
follow in the same transaction (C.3, C.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from services.coordination.application.sectioning import Reading, read
from services.coordination.application.work import Report, Work
from services.coordination.domain.worker import STATUS_OF, Coordinator, Kind, Reason, Status, Worker

SYSTEM: Final = "service:coordination"
"""Who does what no person and no agent did."""
WAKE_AFTER: Final = timedelta(milliseconds=200)
"""Results that come together wake the coordinator once."""


@dataclass(frozen=True, slots=True)
class End:
    """How a worker ended. `text`: its final text, whole or as far as it came; None: nothing new is known of it.
    `job_state`: what becomes of its job, `done`, `failed` or `cancelled`."""

    reason: Reason
    text: str | None = None
    tokens: int = 0
    job_state: str = "cancelled"
    stop_session: bool = False
    """Its session may still be at work: abort it."""
    reading: Reading | None = None
    """What `sectioning.read` found in the text before the transaction; None: it is read inside."""


async def end_worker(work: Work, coordinator: Coordinator, worker: Worker, end: End, by: str, now: datetime) -> Worker:
    """Ends a worker that has not ended; both rows are locked. One that has ended stays as it is."""
    if worker.ended:
        return worker
    status = STATUS_OF[end.reason]
    worker, coordinator = await bill(work, coordinator, worker, end.tokens, now)
    text = end.text if end.text is not None and end.text.strip() else None
    late = bool(worker.spawned_by_turn) and (
        await work.turn_ended(worker.tenant, worker.coordinator_id, worker.spawned_by_turn) is not None
    )
    partial = status is not Status.SUCCEEDED and (text is not None or worker.has_result)
    ended = replace(
        worker,
        status=status,
        reason=end.reason.value,
        has_result=text is not None or worker.has_result,
        partial=partial or (text is None and worker.has_result),
        late=late,
        waiting=False,
        report_version=worker.report_version + (text is not None),
        collected_version=_collected(worker, text),
        billed_at=None,
        ended_at=now,
        updated_at=now,
    )
    await work.save_worker(ended)
    if text is not None:
        section = (end.reading or await read(text)).section
        await work.add_report(ended, Report(ended.report_version, True, ended.partial, text, section, now))
    await _leave_nothing_behind(work, coordinator, ended, end, now)
    await work.fact(ended, "ended", by, now, before=worker.status)
    return ended


async def _leave_nothing_behind(work: Work, coordinator: Coordinator, ended: Worker, end: End, now: datetime) -> None:
    """Its job is over, its session does not go on, and its coordinator hears of what comes late."""
    if ended.job_id:
        if end.job_state == "cancelled":
            await work.cancel_job(ended, end.reason.value)
        else:
            await work.end_job(ended.job_id, end.job_state, end.reason.value)
    if end.stop_session and ended.kind is Kind.SUBAGENT and ended.launches:
        await work.want_stop(ended.tenant, ended.session_id, now)
    if ended.late and coordinator.auto_wake and coordinator.enabled and not coordinator.deleted:
        await work.want_wake(coordinator.tenant, coordinator.session_id, now + WAKE_AFTER)


def _collected(worker: Worker, text: str | None) -> int:
    """What the coordinator has of it. An interim report that it has collected already is to be collected again, where
    nothing follows it: how the worker ended is news."""
    return (
        worker.collected_version
        if text is not None
        else min(worker.collected_version, max(0, worker.report_version - 1))
    )


async def bill(
    work: Work, coordinator: Coordinator, worker: Worker, tokens: int, now: datetime
) -> tuple[Worker, Coordinator]:
    """Books what a running worker has cost since it was billed last; both rows are locked and written here."""
    spent = 0
    if worker.billed_at is not None:
        spent = max(0, round((now - worker.billed_at).total_seconds() * 1000))
    more = max(0, tokens - worker.tokens)
    if not spent and not more:
        return worker, coordinator
    billed = replace(
        worker,
        spent_ms=worker.spent_ms + spent,
        tokens=worker.tokens + more,
        billed_at=now if worker.billed_at is not None else None,
    )
    await work.save_worker(billed)
    return billed, await work.charge(coordinator, spent, more)
