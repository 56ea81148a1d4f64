"""What the use cases need of the outside."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from services.kernel.principal import Principal
from services.streaming.domain.log import Entry, Record
from services.streaming.domain.session import Session


class SessionKey(NamedTuple):
    """A session of a tenant. Both are checked before they come here: they become parts of a subject."""

    tenant: str
    session: str


class FeedKey(NamedTuple):
    """A tenant's feed of facts, or (`of`) that of a thread and its descendants, or of a coordinator's session, in it.
    Ids tell which by their prefixes."""

    tenant: str
    of: str | None


class NotNext(Exception):
    """An append was refused: the log's tail is another one than expected. Nothing was stored."""


class SessionLog(Protocol):
    """The log of sessions' events."""

    async def append(self, key: SessionKey, entry: Entry, after: int) -> int:
        """Stores the entry if the session's last entry is `after` (0: none). Answers its seq. NotNext: not stored;
        Unavailable: nobody knows."""
        ...

    async def tail(self, key: SessionKey) -> Entry | None:
        """The newest entry, from the leader."""
        ...

    async def find(self, key: SessionKey, event_ids: Set[str], after: int, upto: int) -> set[str]:
        """Those of the events that stand among the entries with after < seq <= upto, exactly. Unavailable when it
        cannot tell."""
        ...


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """A row of the session outbox: an event that tells of state, to be appended once. Not stored before
    `after_seq`."""

    row: int
    event_id: str
    name: str
    line: bytes
    after_seq: int


class Attached(NamedTuple):
    """What an Attach got from the session's row."""

    epoch: int
    numbering: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page of sessions, newest first; `more` if there are further ones."""

    sessions: list[Session]
    more: bool


class SessionStore(Protocol):
    """Sessions in Postgres."""

    async def create(self, session: Session, caller: Principal, request_id: str, digest: bytes) -> Session:
        """Stores it and the first event of its stream, or answers what the same request made before (PUB08), or the
        session that has the id and the adapter already. AlreadyExists where it has another one, NotAllowed where it is
        deleted."""
        ...

    async def get(self, key: SessionKey) -> Session:
        """The session, or NotFound."""
        ...

    async def page(self, tenant: str, after: tuple[str, str] | None, size: int, *, top_level: bool = False) -> Page:
        """Sessions after (created_at, id), newest first; `top_level`: but those that work for another one."""
        ...

    async def record(self, key: SessionKey) -> Record:
        """What is known of the session's log, or NotFound."""
        ...

    async def raise_generation(self, key: SessionKey, held: int, to: int) -> bool:
        """Puts the generation from `held` to `to`; False when somebody else changed it."""
        ...

    async def attach(self, key: SessionKey, epoch: int, job_id: str) -> Attached:
        """Takes the session: a new epoch. `epoch` continues the numbering it belongs to, 0 starts a new one; Conflict
        ATTACH_FENCED when another runner started one since, LEASE_LOST when the session is held by another job."""
        ...

    async def pending(self, key: SessionKey) -> list[PendingEvent]:
        """Events of the session outbox that are not in the log yet, oldest first."""
        ...

    async def sent(self, key: SessionKey, rows: list[int], tail: Entry) -> None:
        """Notes that pending events are in the log, at or before the tail, and the tail."""
        ...

    async def with_pending(self, most: int) -> list[SessionKey]:
        """Sessions that have pending events, those that wait longest first."""
        ...
