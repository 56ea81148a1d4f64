"""The port of agents: what drives a session's turns, and how it says what happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from services.runner.domain.agent import AgentEvent, AgentTask, GateReply, Usage

Emit: TypeAlias = Callable[[AgentEvent], Awaitable[None]]
"""Takes one event, in order. Waits while there is no room: a reader that is slow slows the agent, nothing is lost."""


class AgentFault(Exception):
    """The agent could not be started. The words are for the log."""


class Agent(Protocol):
    """One running agent. One turn at a time: each prompt ends in exactly one TurnSettled.

    No method but `start` raises for what the agent does: that is told by events.
    """

    @property
    def usage(self) -> Usage:
        """What the newest turn has cost so far, as far as it is known."""
        ...

    async def start(self) -> None:
        """Raises AgentFault. After it, `stop` must be called."""
        ...

    async def prompt(self, text: str, context: str = "", turn: str = "") -> None:
        """Begins a turn; called only when none is under way. `context` is what the agent is to know besides; `turn`:
        the turn's id, where it is known, by which calls of tools that come too late are told apart (P.1)."""
        ...

    async def steer(self, text: str) -> bool:
        """Says something in the middle of a turn; open gates are cancelled first (D1.1). False: no turn is under way,
        and nothing was said."""
        ...

    async def abort(self) -> None:
        """Ends the turn as aborted, soon. Without a turn: nothing."""
        ...

    async def answer_gate(self, key: str, reply: GateReply) -> None:
        """Closes a gate; one that is closed already is ignored."""
        ...

    async def renew(self, token: str) -> None:
        """Its tools go on with this token, in a turn as between two."""
        ...

    async def state(self) -> bytes | None:
        """What another agent needs to go on after the last settled turn; None when there is nothing to keep."""
        ...

    async def stop(self) -> None:
        """Ends the agent and all that it started; an open turn is not settled by it. Emits nothing any more."""
        ...


class Agents(Protocol):
    """Makes agents of one kind."""

    @property
    def name(self) -> str:
        """The adapter's name in sessions."""
        ...

    def open(self, task: AgentTask, emit: Emit) -> Agent:
        """An agent that is not started yet."""
        ...
