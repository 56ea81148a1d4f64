"""What the use cases need of the outside, beyond their own transaction (application/work.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from services.coordination.application.work import Note
from services.coordination.domain.worker import Coordinator, Worker


@dataclass(frozen=True, slots=True)
class LiveTurn:
    """The turn of a session that is under way, and what its agent runs on."""

    turn_id: str
    adapter: str
    provider: str
    model: str
    thinking: str


class Conversations(Protocol):
    """The streaming service, as a coordinator's conversation lives there."""

    async def live_turn(self, session_id: str) -> LiveTurn | None:
        """The session's turn that is running or waiting and that nobody has asked to stop, by the caller's own
        authorization; None: no such turn, or no such session. Unavailable STREAMING_UNAVAILABLE when streaming
        cannot be asked."""
        ...


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker as it is shown. `notes`: the newest ones that fit NOTES_SHOWN bytes, oldest first. `result`: the newest
    report's; None where there is none, or it has more than RESULT_SHOWN code points."""

    worker: Worker
    notes: Sequence[str] = ()
    note_count: int = 0
    result: str | None = None
    result_length: int = 0


@dataclass(frozen=True, slots=True)
class CoordinatorSeen:
    """A coordinator as it is shown; `changed_at`: when it or one of its workers last changed."""

    coordinator: Coordinator
    notes: Sequence[str]
    note_count: int
    changed_at: datetime


class Place(NamedTuple):
    """Where a page of workers ends."""

    created_at: datetime
    worker_id: str


@dataclass(frozen=True, slots=True)
class Page:
    """Workers, oldest first; `end`: where to go on, None on the last page."""

    workers: Sequence[Seen]
    end: Place | None


NOTES_SHOWN = 16 * 1024
"""Bytes of UTF-8 that a list's notes may have in a roster; ListNotes gives all."""
RESULT_SHOWN = 4_000
"""Code points that a result may have in a roster; CollectResult gives any."""
PAGE_SHOWN = 1024 * 1024
"""Bytes of texts after which a page of workers ends, so that every answer fits (PUB23)."""


class Reads(Protocol):
    """What readers see; every question is inside one tenant."""

    async def coordinator(self, tenant: str, session_id: str) -> CoordinatorSeen | None:
        """A coordinator with its newest notes."""
        ...

    async def workers(
        self, tenant: str, coordinator_id: str, after: Place | None, size: int, open_at: datetime | None = None
    ) -> Page:
        """A page of at most `size` workers, fewer where their texts are long; at least one where there are any.
        `open_at`: only those that were spawned by then and had not ended.
        """
        ...

    async def worker(self, tenant: str, coordinator_id: str, name: str) -> Seen | None:
        """One worker."""
        ...

    async def worker_of_session(self, tenant: str, session_id: str) -> Worker | None:
        """The worker whose session this is."""
        ...

    async def notes(self, tenant: str, coordinator_id: str, worker_id: str, after: int, size: int) -> Sequence[Note]:
        """Notes of a list (worker_id empty: the coordinator's own) above the sequence, oldest first."""
        ...
