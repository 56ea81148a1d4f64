"""What the use cases need of planning, and of the rows that say what planning has still to hear."""

from __future__ import annotations

from typing import Protocol

from services.kernel.errors import NotAllowed
from services.streaming.application.ports import SessionKey


class Behind(NotAllowed):
    """Planning knows a later turn of this session than we do: `last`."""

    def __init__(self, last: int) -> None:
        super().__init__("TURN_STALE", "planning knows a later turn of this session", last=last)
        self.last = last


class Plans(Protocol):
    """Planning. Unavailable PLANNING_UNAVAILABLE where nobody knows; every call may be repeated."""

    async def ensure(self, key: SessionKey) -> None:
        """The session has a workspace."""
        ...

    async def begin(self, key: SessionKey, number: int, turn_id: str, by: str) -> None:
        """The workspace is kept as it is now, under that turn. Behind for a number that is too low; NotAllowed where
        the session takes no turns."""
        ...


class Starts(Protocol):
    """Rows of turns that start."""

    async def stale(self, most: int) -> list[tuple[SessionKey, str]]:
        """Those whose time is over: session and turn."""
        ...


class Workspaces(Protocol):
    """Rows of sessions whose workspace planning may not know of."""

    async def wanted(self, most: int) -> list[SessionKey]:
        """Oldest first."""
        ...

    async def made(self, key: SessionKey) -> None:
        """Planning has it."""
        ...
