"""Rows of coordinators, workers, notes and reports as the domain's records, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from services.coordination.application.work import Note, Report
from services.coordination.domain.worker import Coordinator, Kind, Status, Worker
from services.kernel.postgres import Row

COORDINATOR_FIELDS: Final = tuple(one.name for one in fields(Coordinator))
WORKER_FIELDS: Final = tuple(one.name for one in fields(Worker))
NOTE_FIELDS: Final = ("sequence", "text", "written_by", "created_at")
REPORT_FIELDS: Final = tuple(one.name for one in fields(Report))


def coordinator_of(row: Row) -> Coordinator:
    """A coordinator; the row has COORDINATOR_FIELDS."""
    return Coordinator(**{name: row[name] for name in COORDINATOR_FIELDS})


def worker_of(row: Row) -> Worker:
    """A worker; the row has WORKER_FIELDS."""
    values = {name: row[name] for name in WORKER_FIELDS}
    return Worker(**{**values, "kind": Kind(row["kind"]), "status": Status(row["status"])})


def note_of(row: Row) -> Note:
    """A note; the row has NOTE_FIELDS."""
    return Note(row["sequence"], row["text"], row["written_by"], row["created_at"])


def values_of(record: Coordinator | Worker, names: tuple[str, ...]) -> dict[str, Any]:
    """A record's values by column."""
    return {name: getattr(record, name) for name in names}
