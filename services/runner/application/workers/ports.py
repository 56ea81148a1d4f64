"""What running a worker needs from outside, named for the need. Refusals are kernel types, as in application.ports."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from services.runner.application.ports import LeasedJob
from services.runner.domain.worker import SessionTurn, TurnState, WorkerEnd, WorkerOrder


@dataclass(frozen=True, slots=True)
class Progress:
    """How a worker does. `said` stays true once it is."""

    said: bool = False
    waiting: bool = False
    tokens: int = 0


class WorkerJobs(Protocol):
    """Coordination's jobs, once they are leased."""

    async def beat(self, job: LeasedJob, progress: Progress) -> bool:
        """Keeps the lease and tells the progress; True: stop the worker."""
        ...

    async def give_back(self, job: LeasedJob, progress: Progress) -> None:
        """Ends the lease and not the worker: another runner takes the watch over."""
        ...

    async def end(self, job: LeasedJob, end: WorkerEnd) -> None:
        """Ends the worker."""
        ...

    def order(self, job: LeasedJob) -> WorkerOrder:
        """The job's payload. Raises Failed when it cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class News:
    """Something of a session's stream. `turn` and `state` where a turn changed; `said` where the agent spoke."""

    cursor: str
    said: bool = False
    turn: str = ""
    state: TurnState | None = None


class WorkerSessions(Protocol):
    """The service that owns sessions, asked as the worker's own agent."""

    async def create(self, order: WorkerOrder) -> None:
        """Opens the session; one that is there already stays as it is."""
        ...

    async def prompt(self, order: WorkerOrder, request_id: str) -> str:
        """Begins the turn; answers its id. NotAllowed TURN_RUNNING where one is under way."""
        ...

    async def turn(self, order: WorkerOrder, turn_id: str = "") -> SessionTurn | None:
        """The turn, or the newest one; None while there is none. NotFound: the session is gone."""
        ...

    def watch(self, order: WorkerOrder, cursor: str) -> AsyncGenerator[News, None]:
        """The stream after the cursor (all of it, where that is empty), until it breaks off."""
        ...

    async def text(self, order: WorkerOrder, turn_id: str) -> str:
        """What the agent answered in that turn, as far as it came."""
        ...

    async def abort(self, order: WorkerOrder) -> None:
        """Asks the turn under way to stop; without one: nothing."""
        ...
