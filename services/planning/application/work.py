"""What a command does to a workspace, inside one transaction: the port that Postgres fills.

Order of locks: the idempotency key, a session's name, workspaces by id, the family, its size, blobs by digest. Facts
are written under the workspace's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.kernel.principal import Principal
from services.planning.domain.branch import Branch
from services.planning.domain.context import Context
from services.planning.domain.document import Document
from services.planning.domain.facts import Told
from services.planning.domain.restore import Stretch
from services.planning.domain.snapshot import Shelved, Snapshot
from services.planning.domain.step import Steps
from services.planning.domain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn of a line. `turn_id`: its id where it happened."""

    line: str
    number: int
    turn_id: str
    running: bool
    outcome: str
    kept: bool
    leaves: int
    done_leaves: int
    begun_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Restored:
    """What going on from a turn begins with. `live`: it is the workspace of now, and `steps` are its rows,
    otherwise they have no ids. `turn_id`: of that turn; empty for turn 0. `shelf`: the documents by their digests."""

    workspace: Workspace
    turn: int
    turn_id: str
    live: bool
    snapshot: Snapshot
    steps: Steps
    shelf: Sequence[Shelved]


@dataclass(frozen=True, slots=True)
class Live:
    """A workspace as it is now, without documents."""

    workspace: Workspace
    steps: Steps


class Work(Protocol):
    """One transaction."""

    async def remember(self, caller: Principal, method: str, request_id: str, digest: bytes) -> bytes | None:
        """The answer that the same request got before; None: go on (PUB08)."""
        ...

    async def store(self, answer: bytes) -> None:
        """Keeps the answer for repeats of what was remembered."""
        ...

    async def reserve(self, tenant: str, session_id: str) -> None:
        """Nobody else makes or deletes the workspace of this session until the end."""
        ...

    async def find(self, tenant: str, session_id: str, *, family: bool = False) -> Workspace | None:
        """The workspace, locked until the end; `family`: and nothing of what its family has kept is swept out."""
        ...

    async def workspace(self, tenant: str, session_id: str, *, family: bool = False) -> Workspace:
        """As `find`; NotFound SESSION_NOT_FOUND when there is none."""
        ...

    async def is_deleted(self, tenant: str, session_id: str) -> bool:
        """Whether the session is known to be deleted."""
        ...

    async def insert(self, made: Workspace, stretches: Sequence[Stretch]) -> None:
        """A new workspace, of its own family or of one that is there."""
        ...

    async def save(self, changed: Workspace) -> None:
        """Writes every column but the keys; the row is locked."""
        ...

    async def delete(self, workspace: Workspace, at: datetime) -> None:
        """Everything of it, and what its family kept that nobody stands on any more; its branches point nowhere. It
        does not come again."""
        ...

    async def note_deleted(self, tenant: str, session_id: str, at: datetime) -> None:
        """A session without a workspace is deleted: it gets none."""
        ...

    async def family_size(self, workspace: Workspace) -> int:
        """How many workspaces its family has; nobody else asks that until the end, whichever of them is branched from.
        Lock the family before."""
        ...

    async def stretches(self, workspace: Workspace) -> list[Stretch]:
        """Which turns it has."""
        ...

    async def steps(self, workspace: Workspace) -> Steps:
        """The plan, in order."""
        ...

    async def seen(self, tenant: str, session_id: str) -> Live:
        """Another workspace, unlocked. NotFound SESSION_NOT_FOUND when there is none."""
        ...

    async def write_steps(self, workspace: Workspace, before: Steps, after: Steps) -> None:
        """Makes the rows those of `after`: what is not there any more is deleted, what changed is updated."""
        ...

    async def documents(self, workspace: Workspace) -> list[Document]:
        """All, in order, without contents."""
        ...

    async def content(self, workspace: Workspace, key: str) -> str:
        """A document's content."""
        ...

    async def put_document(self, workspace: Workspace, document: Document) -> None:
        """Inserts it or writes it over the old one."""
        ...

    async def delete_document(self, workspace: Workspace, key: str) -> None:
        """It is there no more; what turns kept of it stays."""
        ...

    async def lock_document(self, workspace: Workspace, document: Document) -> None:
        """Writes its lock and version."""
        ...

    async def insert_documents(self, workspace: Workspace, shelf: Sequence[Shelved], at: datetime) -> None:
        """The documents of a new workspace, in order; contents that its family has kept are not copied."""
        ...

    async def turn_of_id(self, tenant: str, turn_id: str) -> TurnRow | None:
        """A turn of any line."""
        ...

    async def begin_turn(self, workspace: Workspace, steps: Steps, now: datetime) -> None:
        """The newest turn, under way, together with what the workspace is now: objective, these steps, documents."""
        ...

    async def end_turn(self, tenant: str, line: str, number: int, outcome: str, now: datetime) -> None:
        """The turn is over; one that was `superseded` learns how it ended."""
        ...

    async def is_ended(self, tenant: str, session_id: str, turn_id: str) -> bool:
        """Whether the end of a turn was heard of before its beginning."""
        ...

    async def note_ended(self, tenant: str, session_id: str, turn_id: str, at: datetime) -> None:
        """The end of a turn that never began here."""
        ...

    async def told(self, workspace: Workspace, turn_id: str) -> Context | None:
        """What its agent was told in a turn of its own line."""
        ...

    async def tell(self, workspace: Workspace, context: Context) -> None:
        """Keeps with the turn under way what its agent is told. Lock the family before."""
        ...

    async def branched(self, tenant: str, session_id: str, turn: int) -> Restored:
        """What going on from the turn begins with (C2), or why not; documents by their digests alone, whose contents
        are kept from now on."""
        ...

    async def add_branch(self, branch: Branch) -> None:
        """A new record."""
        ...

    async def branch(self, tenant: str, session_id: str) -> Branch | None:
        """The record, locked until the end. Lock its workspace before."""
        ...

    async def save_branch(self, branch: Branch) -> None:
        """Writes every column but the keys; the row is locked."""
        ...

    async def drop_branch(self, tenant: str, session_id: str) -> None:
        """Forgets the record of a branch that was deleted."""
        ...

    async def due_branch(self, now: datetime) -> Branch | None:
        """A branch that nobody drives, taken for LEASE; skips what another one takes."""
        ...

    async def fact(self, tenant: str, told: Told, actor: str, now: datetime) -> None:
        """A domain fact for the feeds."""
        ...


class Workshop(Protocol):
    """Where work is done."""

    def work(self) -> AbstractAsyncContextManager[Work]:
        """A transaction: committed at its good end; then the relay is woken."""
        ...
