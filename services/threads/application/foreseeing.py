"""What a transaction would do, as a reader of a preview sees it, and the mark by which a commit proves to do the same
(design/threads.md, section 0.12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from services.threads.application.ports import Change
from services.threads.domain import effects as e
from services.threads.domain.canonical import Json, digest
from services.threads.domain.kinds import Kind
from services.threads.domain.reading import text

NEW: Final = "new"
"""Stands for the id of a thread that would be made."""
_MARK: Final = 32
"""Hex digits of a mark."""


@dataclass(frozen=True)
class ForeseenEvent:
    """One event; the last three are empty where it is no transition."""

    thread_id: str
    kind: str
    from_state: str = ""
    to_state: str = ""
    trigger: str = ""


@dataclass(frozen=True)
class Foreseen:
    """Events in the order of their writing, and the kinds of the jobs that are enqueued."""

    events: tuple[ForeseenEvent, ...]
    jobs: tuple[str, ...]

    @property
    def mark(self) -> str:
        """The same for the same effects, whoever causes them and when."""
        events: list[Json] = [list(vars(event).values()) for event in self.events]
        return digest({"events": events, "jobs": list(self.jobs)})[:_MARK]


def foreseen(written: Sequence[Change]) -> Foreseen:
    """Of all that a transaction has written."""
    return Foreseen(
        tuple(event for change in written for event in _events(change)),
        tuple(kind for change in written for effect in change.effects if (kind := _job(effect))),
    )


def _events(change: Change) -> list[ForeseenEvent]:
    thread_id = NEW if change.events[0].seq == 1 else change.after.thread_id
    told: list[ForeseenEvent] = []
    for event in change.events:
        if event.kind is Kind.STATE_TRANSITION:
            moved = (text(event.data, name) for name in ("from", "to", "trigger"))
            told.append(ForeseenEvent(thread_id, event.kind, *moved))
        else:
            told.append(ForeseenEvent(thread_id, event.kind))
    return told


def _job(effect: e.Effect) -> str:
    match effect:
        case e.EnqueueInference():
            return "inference"
        case e.EnqueueExecution():
            return "execution"
        case e.EnqueueCleanup():
            return "cleanup"
        case e.CancelJobs() | e.SetTimer() | e.ClearTimer():
            return ""
        case _:
            assert_never(effect)
