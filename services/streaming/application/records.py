"""What is kept of a session and can be read: turns, gates, the ledger, messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from services.streaming.application.ports import SessionKey
from services.streaming.application.work import Turn
from services.streaming.domain.gates import Gate, GateState
from services.streaming.domain.session import Session


@dataclass(frozen=True, slots=True)
class Entry:
    """An accepted set of joins."""

    sequence: int
    gate_id: str
    joins: list[Any]
    accepted_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    """A prompt or a final text."""

    sequence: int
    turn_id: str
    role: str
    text: str
    partial: bool
    created_at: datetime
    turn: int


class Records(Protocol):
    """Reads; the caller has seen that the session is there."""

    async def gates(self, key: SessionKey, state: GateState | None, before: str, size: int) -> tuple[list[Gate], bool]:
        """Newest first, and whether there are more."""
        ...

    async def gate(self, key: SessionKey, gate_id: str) -> Gate | None:
        """One gate."""
        ...

    async def ledger(self, key: SessionKey, after: int, size: int) -> tuple[list[Entry], Entry | None, bool]:
        """Entries oldest first, the newest of all, and whether there are more."""
        ...

    async def turn(self, key: SessionKey, turn_id: str) -> tuple[Session, Turn]:
        """The session and that turn of it, or its newest (empty id), as of one moment. NotFound."""
        ...

    async def messages(self, key: SessionKey, turn_id: str, after: int, size: int) -> tuple[list[Message], bool]:
        """Oldest first, of one turn or (empty id) of all, and whether there are more."""
        ...
