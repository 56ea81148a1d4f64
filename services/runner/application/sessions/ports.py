"""What holding a session needs from its owner, named for the need."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from services.runner.application.ports import LeasedJob
from services.runner.domain.agent import Usage
from services.runner.domain.session import Command, Said, SessionOrder


@dataclass(frozen=True, slots=True)
class Opening:
    """How an attach begins. `epoch`: of the newest answer, 0 before the first; `taken`: the newest command taken."""

    job: LeasedJob
    epoch: int
    taken: int


@dataclass(frozen=True, slots=True)
class GateRefused:
    """A gate that the owner did not open."""

    request: str
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the owner says. `kept`: the turn whose state it has dealt with, empty for none."""

    epoch: int
    acked: int
    commands: Sequence[Command] = ()
    refused: Sequence[GateRefused] = ()
    kept: str = ""


class Attachment(Protocol):
    """One attach, until it breaks. Its methods raise kernel refusals: Conflict and NotFound when the session is not
    ours any more, others when the way is broken."""

    async def say(self, events: Sequence[tuple[int, Said]]) -> None:
        """Numbered events, at most 64."""
        ...

    async def took(self, sequence: int) -> None:
        """Every command up to this one was taken."""
        ...

    async def alive(self, turn: str, usage: Usage) -> None:
        """The agent is there. `turn`: the one under way, empty for none; `usage`: what it has cost so far."""
        ...

    async def gone(self, code: str) -> None:
        """The agent has ended; empty code: in good order."""
        ...

    async def keep(self, turn: str, state: bytes) -> None:
        """The agent's state after a turn."""
        ...

    def answers(self) -> AsyncIterator[Answer]:
        """What the owner says, until it ends the attach in good order."""
        ...


class SessionOwner(Protocol):
    """The service that owns sessions."""

    def attach(self, opening: Opening) -> AbstractAsyncContextManager[Attachment]:
        """Takes the session; a newer attach fences this one."""
        ...

    async def state(self, job: LeasedJob, digest: str) -> bytes:
        """The agent's state that a job names."""
        ...

    async def token(self, job: LeasedJob) -> str:
        """A new token for the session's agent. Raises a refusal."""
        ...

    async def leave(self, job: LeasedJob) -> None:
        """Ends the job before the agent is stopped. NotAllowed where a turn is under way: go on with it."""
        ...

    def order(self, job: LeasedJob) -> SessionOrder:
        """The job's payload. Raises Failed when it cannot be read."""
        ...
