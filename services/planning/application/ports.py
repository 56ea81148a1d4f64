"""What the use cases need of the outside, beyond their own transaction (application/work.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from services.planning.application.work import Live, Restored, TurnRow
from services.planning.domain.branch import Branch
from services.planning.domain.context import Context
from services.planning.domain.document import Document
from services.planning.domain.numbering import Progress
from services.planning.domain.workspace import Workspace


class Conversations(Protocol):
    """The streaming service, which has the conversations themselves. Every call may be repeated. A Refusal that is
    `passing` may be tried again; any other is for good."""

    async def fork(self, branch: Branch) -> None:
        """Makes the branch's session; it takes no prompts yet."""
        ...

    async def open(self, branch: Branch) -> None:
        """The branch's session takes prompts from now on."""
        ...

    async def abandon(self, branch: Branch) -> None:
        """Drops the branch's session, if it is there."""
        ...


class Endings(Protocol):
    """The streaming service, which knows first that a turn has ended. Nothing is asked of it inside a transaction."""

    async def outcome_of(self, tenant: str, session_id: str, turn_id: str) -> str | None:
        """How the turn ended, in a word; None: it is under way. A Refusal where that cannot be known now."""
        ...


@dataclass(frozen=True, slots=True)
class TurnSeen:
    """A turn as a session has it. `restorable`: one can go on from it."""

    turn: TurnRow
    restorable: bool


class GraphPlace(NamedTuple):
    """Where a page of nodes ends."""

    begun_at: datetime
    turn_id: str


@dataclass(frozen=True, slots=True)
class Node:
    """A turn in the graph of a family. `session_id`: one that has it. `objective`, `progress`: of what going on from
    it begins with."""

    turn: TurnRow
    parent_turn_id: str
    session_id: str
    restorable: bool
    objective: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class Head:
    """A session in the graph. `fork_turn_id`: the node that it branches after, empty where there is none."""

    workspace: Workspace
    fork_turn_id: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class Graph:
    """A page of nodes, oldest first, and all heads."""

    nodes: Sequence[Node]
    heads: Sequence[Head]
    more: bool


class Reads(Protocol):
    """What readers see; every question is inside one tenant."""

    async def live(self, tenant: str, session_id: str) -> Live:
        """The workspace as it is now. NotFound SESSION_NOT_FOUND."""
        ...

    async def pair(self, tenant: str, session_id: str, other_id: str) -> tuple[Live, Live]:
        """Two of them at one time."""
        ...

    async def restored(self, tenant: str, session_id: str, turn: int) -> Restored:
        """What going on from the turn begins with (C2), or why not."""
        ...

    async def documents(self, tenant: str, session_id: str) -> list[Document]:
        """All, in order, without contents."""
        ...

    async def document(self, tenant: str, session_id: str, key: str) -> Document:
        """One, with its content."""
        ...

    async def turns(self, tenant: str, session_id: str, after: int, size: int) -> list[TurnSeen]:
        """Those above the number, in order."""
        ...

    async def told(self, tenant: str, session_id: str, turn: int, turn_id: str) -> Context | None:
        """What the agent was told in a turn that the session has; 0 and empty: in the newest with anything told."""
        ...

    async def branch(self, tenant: str, session_id: str) -> Branch | None:
        """How a session was made of another one."""
        ...

    async def branches(
        self, tenant: str, origin_id: str, after: tuple[datetime, str] | None, size: int
    ) -> list[Branch]:
        """Those made of a session, oldest first."""
        ...

    async def graph(self, tenant: str, session_id: str, after: GraphPlace | None, size: int) -> Graph:
        """Turns and sessions of the session's family."""
        ...
