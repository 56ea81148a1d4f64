"""What the agents' side of a session needs of the outside: jobs, commands, states, and the log to read back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from services.kernel.bus import Bell
from services.streaming.application.ports import SessionKey
from services.streaming.domain.log import Entry
from services.streaming.domain.offers import Offer
from services.streaming.domain.session import Session


class Command(NamedTuple):
    """Something for the agent to do. `kind`: prompt, steer, abort, gate_answer or shutdown."""

    sequence: int
    turn_id: str
    kind: str
    payload: dict[str, Any]


class Hold(NamedTuple):
    """A job by which a runner holds a session; `key` is the session's."""

    key: SessionKey
    job_id: str
    fence: int


@dataclass(frozen=True, slots=True)
class Leased:
    """A leased job with all that its runner needs."""

    job_id: str
    fence: int
    attempt: int
    lease_until: datetime | None
    session: Session


class Agents(Protocol):
    """Rows of jobs, commands, runners and agents' states."""

    async def announce(self, runner_id: str, offers: Sequence[Offer], seconds: float) -> None:
        """The runner is there for so long and offers this."""
        ...

    async def claim(self, adapters: Sequence[str], runner_id: str, claim_id: str, most: int) -> list[Leased]:
        """Leases queued sessions of these adapters; what the claim holds already, first."""
        ...

    async def heartbeat(self, job_id: str, fence: int) -> datetime:
        """Keeps the lease, and the runner's announcement. Conflict LEASE_LOST."""
        ...

    async def held(self, job_id: str, fence: int) -> Hold:
        """The session of a job whose lease is the caller's. NotFound JOB_NOT_FOUND, Conflict LEASE_LOST."""
        ...

    async def has_ended(self, job_id: str, fence: int) -> bool:
        """Whether this holder ended the job already."""
        ...

    async def attached(self, hold: Hold, taken: int) -> None:
        """The runner is there with an agent, which has taken every command up to `taken`."""
        ...

    async def commands(self, hold: Hold, after: int) -> list[Command]:
        """Commands above the sequence that no agent has taken, in order; they count as told. Conflict LEASE_LOST."""
        ...

    async def taken(self, key: SessionKey, upto: int) -> None:
        """The agent has taken them."""
        ...

    async def note_said(self, key: SessionKey) -> bool:
        """The agent has said something in the turn under way. False: none is."""
        ...

    async def note_usage(self, key: SessionKey, turn_id: str, usage: dict[str, Any]) -> None:
        """What the turn has cost so far, if it is under way."""
        ...

    async def why_lost(self, job_id: str) -> str:
        """`deleted` or `resumed`; empty: the lease ran out, or the job ended."""
        ...

    async def over(self, most: int, unclaimed_seconds: float) -> list[tuple[SessionKey, str]]:
        """Sessions (and their jobs) whose runner is lost or never came."""
        ...

    async def expiring(self, most: int) -> list[tuple[SessionKey, str]]:
        """Open gates (session, id) whose time is over."""
        ...

    async def keep_state(self, key: SessionKey, turn_id: str, digest: str, data: bytes) -> None:
        """Stores an agent's state, by its content, with the turn."""
        ...

    async def state(self, key: SessionKey, digest: str) -> bytes | None:
        """An agent's state."""
        ...

    async def purgeable(self, before: datetime, most: int) -> list[SessionKey]:
        """Sessions that were deleted before and are not purged yet."""
        ...

    async def purge(self, key: SessionKey) -> None:
        """Removes a deleted session's rows, but for what branches share of them, and what nobody shares any more of
        those that it shared."""
        ...

    async def sweep(self, kept: timedelta) -> None:
        """Forgets what has served for so long: events that are in the log, jobs that are over, runners that have
        gone."""
        ...


class LogReading(Protocol):
    """A session's log, read back."""

    def entries(self, key: SessionKey, after: int) -> AsyncIterator[list[Entry]]:
        """What stands behind that sequence, in order."""
        ...

    async def purge(self, key: SessionKey) -> None:
        """Removes all of it."""
        ...


class Bells(Protocol):
    """Rung after commits, here and in other processes; a lost ring is what polling is for."""

    def of_session(self, key: SessionKey) -> AbstractAsyncContextManager[Bell]:
        """Something was written about the session."""
        ...

    def of_jobs(self) -> AbstractAsyncContextManager[Bell]:
        """A job was queued."""
        ...
