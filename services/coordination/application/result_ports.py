"""What reading results, waiting for workers and composing injections need of the outside."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from services.coordination.application.ports import Seen
from services.coordination.domain.injection import CoordinatorView, Injection, WorkerView
from services.coordination.domain.worker import Worker
from services.kernel.bus import Bell


@dataclass(frozen=True, slots=True)
class Delivery:
    """A report as it is collected. `text`: its `## Result`, or the whole text; `found`: whether there is a section."""

    version: int
    final: bool
    partial: bool
    found: bool
    text: str
    created_at: datetime


class Mailbox(Protocol):
    """Workers' reports; nothing here waits for anybody's lock."""

    async def look(
        self, tenant: str, coordinator_id: str, name: str, version: int, full_text: bool
    ) -> tuple[Worker, Delivery | None] | None:
        """A worker and its report of that version (0: the newest), of one moment. None: no such worker."""
        ...

    async def collected(self, worker: Worker, version: int) -> None:
        """The coordinator has this version. Skipped where somebody works on the worker just now."""
        ...


@dataclass(frozen=True, slots=True)
class Said:
    """What the agent of a registered worker's session said last. `key` names the message."""

    key: str
    text: str
    partial: bool
    at: datetime


class Sayings(Protocol):
    """Sessions of registered workers, read in streaming."""

    async def newest(self, tenant: str, session_id: str, since: datetime) -> Said | None:
        """The newest non-blank text of its agent that is newer than `since`. None: there is none, or it cannot be read,
        for whatever reason."""
        ...


class Standing(NamedTuple):
    """A worker waited for."""

    id: str
    name: str
    ended: bool


class Roll(Protocol):
    """Who is there, and who has ended. No connection is held between two calls."""

    async def all(self, tenant: str, coordinator_id: str) -> Sequence[Standing]:
        """The coordinator's workers, oldest first."""
        ...

    async def standing(self, tenant: str, worker_ids: Collection[str]) -> Sequence[Standing]:
        """Those of them that there are."""
        ...

    async def those(self, tenant: str, coordinator_id: str, worker_ids: Collection[str]) -> Sequence[Seen]:
        """Those of them that there are, as everybody may see them, oldest first."""
        ...

    async def workers(self, tenant: str, worker_ids: Collection[str]) -> Sequence[Worker]:
        """Those of them that there are, oldest first."""
        ...


class WorkerBells(Protocol):
    """Rings when something changed about a coordinator's workers; many rings are one, and one may be lost."""

    def of_workers(self, coordinator_id: str) -> AbstractAsyncContextManager[Bell]:
        """For as long as the context is open."""
        ...


class Injections(Protocol):
    """What sessions are told, and were told."""

    async def view(self, tenant: str, session_id: str) -> CoordinatorView | WorkerView | None:
        """What there is to tell of one moment: a worker's own assignment first, else the roster of a coordinator. None:
        the session is neither, or thread mode is off."""
        ...

    async def find(self, tenant: str, session_id: str, turn_id: str) -> Injection | None:
        """What was stored for the turn; turn_id empty: the newest."""
        ...

    async def keep(self, tenant: str, made: Injection) -> Injection:
        """Stores it where nothing is stored for the turn; answers what is stored."""
        ...
