"""Collects what an agent says, and waits for it."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from services.runner.domain.agent import ActivityDelta, AgentEvent, AgentTask, TextDelta, TurnSettled

_E = TypeVar("_E", bound=AgentEvent)


def task(thinking: str = "medium", provider: str = "", model: str = "m", state: bytes | None = None) -> AgentTask:
    return AgentTask("ses_1", provider, model, thinking, state)


class Heard:
    """`emit` for an agent."""

    def __init__(self) -> None:
        self.events: list[AgentEvent] = []
        self._told = asyncio.Event()

    async def emit(self, event: AgentEvent) -> None:
        self.events.append(event)
        self._told.set()

    async def until(self, kind: type[_E], number: int = 1, seconds: float = 60.0) -> _E:
        """The number-th event of that kind."""
        async with asyncio.timeout(seconds):
            while len(self.of(kind)) < number:
                self._told.clear()
                await self._told.wait()
        return self.of(kind)[number - 1]

    async def settled(self, number: int = 1) -> TurnSettled:
        return await self.until(TurnSettled, number)

    def of(self, kind: type[_E]) -> list[_E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def text(self) -> str:
        return "".join(event.delta for event in self.of(TextDelta))

    @property
    def thinking(self) -> str:
        return "".join(event.delta for event in self.of(ActivityDelta))
