"""What a coordinator or a worker is told at the start of each turn: Markdown of ours with the data of a moment in it,
at most MOST code points whatever the data is (A5, C.6). Pure. The words that are fixed are in `standing.py`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from services.coordination.domain import standing
from services.coordination.domain.worker import ENDS, Status
from services.kernel.escaping import inline, item, quoted

MOST: Final = 12_000
"""Code points of an injected text."""
BRIEF_SHOWN: Final = 120
"""Code points of a brief in the roster."""
_NOTES_KEPT_FREE: Final = 3_000
"""Code points that a long roster leaves to the coordinator's notes."""
_SIBLINGS_MOST: Final = 1_500
_SOME_NOTES: Final = 300
"""Code points that brief and extra context leave to a worker's notes."""
_NONE: Final = "(none)"

Role = Literal["coordinator", "worker"]


@dataclass(frozen=True, slots=True)
class Injection:
    """What was injected into a turn."""

    session_id: str
    turn_id: str
    role: Role
    text: str
    sha256: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Member:
    """A worker as the roster shows it. `uncollected`: there is a report that the coordinator has not collected."""

    name: str
    kind: str
    status: Status
    reason: str = ""
    brief: str = ""
    has_result: bool = False
    partial: bool = False
    uncollected: bool = False


@dataclass(frozen=True, slots=True)
class CoordinatorView:
    """What a coordinator is told of. `members`: all, oldest first. `notes`: newest first."""

    members: Sequence[Member]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class WorkerView:
    """What a worker is told of. `notes`: its thread's, newest first. `siblings`: all others, oldest first."""

    name: str
    brief: str
    context: str = ""
    notes: Sequence[str] = ()
    siblings: Sequence[Member] = ()


def digest(text: str) -> str:
    """SHA-256 of the text in UTF-8, lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def for_coordinator(view: CoordinatorView) -> str:
    """The coordinator's section."""
    top = [standing.COORDINATOR_HEADING, _counted(view.members)]
    bottom = list(standing.COORDINATOR_RULES)
    room = MOST - _length([*top, *bottom])
    roster = _roster(view.members, room - min(_NOTES_KEPT_FREE, 2 * sum(map(len, view.notes)) + 400))
    notes = _notes(view.notes, room - _length([*roster, standing.COORDINATOR_NOTES]))
    return _joined([*top, *roster, *([standing.COORDINATOR_NOTES, *notes] if view.notes else ()), *bottom])


def for_worker(view: WorkerView) -> str:
    """The worker's section. The brief stands in it once."""
    top = [standing.WORKER_HEADING, standing.identity(view.name), standing.BRIEF_HEADING]
    middle = [standing.NOTES_HEADING, *([standing.CONTEXT_HEADING] if view.context else ())]
    bottom = [standing.SIBLINGS_HEADING, _siblings(view.siblings), *standing.DISCIPLINE]
    room = MOST - _length([*top, *middle, *bottom, "", ""])
    texts = room - _SOME_NOTES
    brief = _whole(view.brief, texts - min(len(quoted(view.context)), texts // 3))
    context = [standing.CONTEXT_HEADING, _whole(view.context, texts - len(brief))] if view.context else []
    notes = _notes(view.notes, room - len(brief) - len(context[-1] if context else ""))
    return _joined([*top, brief, standing.NOTES_HEADING, *notes, *context, *bottom])


def _counted(members: Sequence[Member]) -> str:
    """One line with the number of workers, and of what is to be done about them."""
    if not members:
        return "Worker threads: 0."
    by_status = {status: sum(one.status is status for one in members) for status in Status}
    stand = ", ".join(f"{count} {status}" for status, count in by_status.items() if count)
    ready = sum(one.has_result and one.uncollected for one in members)
    return f"Worker threads: {len(members)} ({stand}). Results ready to collect: {ready}."


def _roster(members: Sequence[Member], room: int) -> list[str]:
    """The table: whoever matters now first to be kept, oldest first to be seen."""
    if not members:
        return [standing.NONE_YET]
    rows: dict[int, str] = {}
    left = room - len(standing.TABLE_HEAD) - 100
    for place in sorted(range(len(members)), key=lambda place: (_weight(members[place]), -place)):
        row = _row(members[place])
        left -= len(row) + 1
        if left < 0:
            break
        rows[place] = row
    table = "\n".join([standing.TABLE_HEAD, *(rows[place] for place in sorted(rows))])
    omitted = len(members) - len(rows)
    return [table, *([f"{omitted} more workers are not shown: thread_status lists all."] if omitted else ())]


def _weight(member: Member) -> int:
    if member.status not in ENDS:
        return 0
    return 1 if member.uncollected else 2


def _row(member: Member) -> str:
    status = member.status.value + (f" ({member.reason})" if member.reason not in ("", "completed") else "")
    return f"| {member.name} | {member.kind} | {status} | {_result(member)} | {inline(member.brief, BRIEF_SHOWN)} |"


def _result(member: Member) -> str:
    if not member.has_result:
        return "none" if member.status in ENDS else "-"
    partial = ", partial" if member.partial else ""
    return f"result ready{partial}" if member.uncollected else f"collected{partial}"


def _notes(notes: Sequence[str], room: int) -> list[str]:
    """The newest ones that fit, newest first, and how many did not."""
    if not notes:
        return [_NONE]
    shown: list[str] = []
    left = room - 100
    for note in notes:
        entry = item(note)
        left -= len(entry) + 1
        if left < 0:
            break
        shown.append(entry)
    omitted = len(notes) - len(shown)
    return [
        *(["\n".join(shown)] if shown else ()),
        *([f"{omitted} older notes are not shown."] if omitted else ()),
    ]


def _siblings(siblings: Sequence[Member]) -> str:
    """Names and statuses alone: nothing that a sibling was told, noted or found."""
    if not siblings:
        return _NONE
    shown: list[str] = []
    left = _SIBLINGS_MOST
    for one in sorted(siblings, key=lambda one: one.status in ENDS):
        entry = f"{one.name} ({one.status})"
        left -= len(entry) + 2
        if left < 0:
            break
        shown.append(entry)
    omitted = len(siblings) - len(shown)
    return ", ".join(shown) + (f", and {omitted} more" if omitted else "") + "."


def _whole(text: str, room: int) -> str:
    """Quoted. Texts have 4,000 code points at most, but marks and line ends cost more: what does not fit is told."""
    whole = quoted(text)
    if len(whole) <= room:
        return whole
    cut = whole[: room - 100]
    shown = cut[: cut.rfind("\n")] if "\n" in cut else cut.rstrip("\\")
    return f"{shown}\n\n({len(whole) - len(shown)} more characters do not fit here.)"


def _length(parts: Iterable[str]) -> int:
    return sum(len(part) + 2 for part in parts)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
