"""The port of tools: what an agent may call, as the gateway offers it to the agent's session (design/gateway.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

NewestToken: TypeAlias = Callable[[], str]
"""A token lives twelve hours and a turn may live longer: it is renewed meanwhile."""


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool. `parameters`: the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call brought. A failure is an answer, too: `text` is what the model is told, `content` the same as JSON,
    where it is a JSON object."""

    text: str
    failed: bool
    content: Mapping[str, Any]


class Tools(Protocol):
    """The tools of one session, to be used by one task. No method raises for what the other side does."""

    async def offers(self) -> Sequence[ToolOffer]:
        """All of them; none where the gateway cannot be reached."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Calls one; bounded in time."""
        ...


class Toolbox(Protocol):
    """Where tools come from."""

    def open(self, token: NewestToken, turn: str = "") -> AbstractAsyncContextManager[Tools]:
        """For the session that the token speaks for, which is asked for at each call; to be opened and closed by the
        task that uses it. Calls that change something name the `turn`, where one is given: what comes after its end is
        refused (P.1)."""
        ...
