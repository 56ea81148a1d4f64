"""Scratch notes: a list keeps its newest fifty, and who writes the fifty-first is told what it dropped (A4, PUB21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from services.coordination.application.acting import Command, list_of, thread_of
from services.coordination.application.ports import Reads
from services.coordination.application.work import Note, Workshop
from services.coordination.domain import limits
from services.kernel.clock import Clock
from services.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Noted:
    """What became of a note. `evicted`: what was dropped for it."""

    count: int
    note: Note
    evicted: Note | None


class Noting:
    """The use cases. Notes are taken while thread mode is off too: what hangs on a record goes on."""

    def __init__(self, workshop: Workshop, reads: Reads, clock: Clock) -> None:
        self._workshop = workshop
        self._reads = reads
        self._clock = clock

    async def add(self, command: Command, thread_name: str, text: str) -> Noted:
        """Writes on a worker's thread, or on the coordinator's own list. Makes no record on the side."""
        text = limits.note(text)
        async with self._workshop.work() as work:
            said = await command.remembered(work, "AddNote")
            if said is not None:
                return _noted(said)
            thread = await thread_of(work, command.tenant, command.session_id, thread_name)
            coordinator, worker, now = thread.coordinator, thread.worker, self._clock.now()
            number = (coordinator if worker is None else worker).note_seq + 1
            if worker is None:
                await work.save_coordinator(replace(coordinator, note_seq=number, updated_at=now))
            else:
                await work.save_worker(replace(worker, note_seq=number, updated_at=now))
            note = Note(number, text, command.by, now)
            list_id = "" if worker is None else worker.id
            count, evicted = await work.add_note(command.tenant, coordinator.session_id, list_id, note)
            if worker is None:
                await work.coordinator_fact(coordinator, "noted", command.by, now)
            else:
                await work.fact(worker, "noted", command.by, now)
            noted = Noted(count, note, evicted)
            await work.store(orjson.dumps(noted))
            return noted

    async def page(self, caller: Principal, session_id: str, thread_name: str, after: int, size: int) -> Sequence[Note]:
        """Notes above the sequence, oldest first."""
        coordinator_id, list_id = await list_of(self._reads, caller.tenant, session_id, thread_name)
        return await self._reads.notes(caller.tenant, coordinator_id, list_id, after, size)


def _noted(stored: bytes) -> Noted:
    said = orjson.loads(stored)
    return Noted(said["count"], _note(said["note"]), None if said["evicted"] is None else _note(said["evicted"]))


def _note(said: dict[str, Any]) -> Note:
    return Note(said["sequence"], said["text"], said["by"], datetime.fromisoformat(said["created_at"]))
