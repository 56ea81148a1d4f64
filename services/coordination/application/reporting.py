"""Reports that agents hand in themselves (C.4): stored, versioned, never overwritten. What a managed worker says last
is its final report by itself, and comes through its job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson

from services.coordination.application.acting import Command, worker_thread_of
from services.coordination.application.ending import End, end_worker
from services.coordination.application.sectioning import read
from services.coordination.application.work import Report, Workshop
from services.coordination.domain import errors
from services.coordination.domain.limits import INTERIM_REPORTS_MOST, REPORT_BYTES
from services.coordination.domain.worker import Kind, Reason, Worker
from services.kernel.clock import Clock
from services.kernel.errors import Invalid, TooLarge
from services.kernel.text import storable


@dataclass(frozen=True, slots=True)
class Reported:
    """Where a report went."""

    version: int
    coordinator_id: str
    name: str


class Reporting:
    """The use case."""

    def __init__(self, workshop: Workshop, clock: Clock) -> None:
        self._workshop = workshop
        self._clock = clock

    async def report(self, command: Command, thread_name: str, text: str, final: bool) -> Reported:
        """Stores a report; a final one ends a registered worker as `succeeded`. WORKER_ENDED after the end (it stays),
        WORKER_MANAGED for what only a managed worker itself can say, VALUE_TOO_LARGE over 3 MiB, TOO_MANY_REPORTS."""
        text = reportable(text)
        reading = await read(text)
        async with self._workshop.work() as work:
            said = await command.remembered(work, "ReportResult")
            if said is not None:
                return _reported(orjson.loads(said))
            coordinator, worker = await worker_thread_of(work, command.tenant, command.session_id, thread_name)
            if worker.ended:
                raise errors.worker_ended(worker)
            if worker.kind is Kind.SUBAGENT and (final or not _may_speak_for(command, worker)):
                raise errors.worker_managed(worker)
            now = self._clock.now()
            if final:
                end = End(Reason.COMPLETED, text, reading=reading)
                told = await end_worker(work, coordinator, worker, end, command.by, now)
            else:
                version = interim_version(worker)
                told = replace(worker, report_version=version, has_result=True, partial=True, updated_at=now)
                await work.save_worker(told)
                await work.add_report(told, Report(version, False, True, text, reading.section, now))
                await work.fact(told, "reported", command.by, now)
            reported = Reported(told.report_version, coordinator.session_id, told.name)
            await work.store(orjson.dumps(reported))
            return reported


def reportable(text: str) -> str:
    """A report's text as it is stored: U+FFFD for what cannot be (PUB22). Invalid when blank, VALUE_TOO_LARGE over
    3 MiB."""
    text = storable(text)
    if not text.strip():
        raise Invalid("INVALID_ARGUMENT", "text must not be empty", field="text")
    if len(text.encode()) > REPORT_BYTES:
        message = f"text must be at most {REPORT_BYTES} bytes"
        raise TooLarge("VALUE_TOO_LARGE", message, field="text", limit=REPORT_BYTES)
    return text


def interim_version(worker: Worker) -> int:
    """Of the worker's next interim report. TOO_MANY_REPORTS above the limit."""
    if worker.report_version >= INTERIM_REPORTS_MOST:
        raise errors.too_many_reports(INTERIM_REPORTS_MOST)
    return worker.report_version + 1


def _may_speak_for(command: Command, worker: Worker) -> bool:
    """A managed worker speaks through its own session; people may put in a word for it, its coordinator may not."""
    return command.session_id == worker.session_id or command.caller.kind != "agent"


def _reported(said: dict[str, Any]) -> Reported:
    return Reported(said["version"], said["coordinator_id"], said["name"])
