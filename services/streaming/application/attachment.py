"""An attachment: one runner's hold on a session. Takes its agent's events, in pieces, into the log (S.5).

A number that is stored already is dropped; adjacent deltas are joined while an append is under way; what is
acknowledged is in the log. It ends with a refusal when a newer Attach took the session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from services.streaming.application.appender import Fence, Overtaken, SessionAppender
from services.streaming.application.ports import Attached
from services.streaming.domain.agent_events import AgentEvent, Delta
from services.streaming.domain.log import Origin, Unsaid

_PENDING_MOST = 2_048
_BURST = 64
"""Appends between two looks at the session's pending state events."""


class Numbered(NamedTuple):
    """An event of the agent with the runner's number; None where the allow-list left nothing of it."""

    sequence: int
    event: AgentEvent | None


class Attachment:
    """Run `write()` in a task of its own; `offer()` from whoever reads the runner's stream."""

    def __init__(self, appender: SessionAppender, attached: Attached, generation: int, stored: Origin) -> None:
        self.epoch = attached.epoch
        self.generation = generation
        self._appender = appender
        self._fence = Fence(attached.epoch, generation)
        self._numbering = attached.numbering
        self._stored = stored.reach(attached.numbering)
        self._acked = self._stored[0]
        self._taken = self._acked
        self._told = self._acked
        self._pending: deque[Numbered] = deque()
        self._some = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._progress = asyncio.Event()

    @property
    def acked(self) -> int:
        """Everything up to this number is stored (or was dropped by the allow-list)."""
        return self._acked

    @property
    def told(self) -> int:
        """What `progress` has told."""
        return self._told

    async def offer(self, events: Iterable[Numbered]) -> None:
        """Takes events in order; waits while too many are pending."""
        await self._room.wait()
        for numbered in events:
            if numbered.sequence > self._taken:
                self._taken = numbered.sequence
                self._pending.append(numbered)
        if len(self._pending) >= _PENDING_MOST:
            self._room.clear()
        self._some.set()

    async def progress(self) -> int:
        """Waits until more is acknowledged than was told; answers the number."""
        while self._told == self._acked:
            self._progress.clear()
            await self._progress.wait()
        self._told = self._acked
        return self._told

    async def settled(self) -> None:
        """Waits until everything that was taken is stored."""
        while self._acked < self._taken:
            self._progress.clear()
            await self._progress.wait()

    async def write(self) -> None:
        """Appends what is pending until cancelled. Raises what the appender raises."""
        while True:
            await self._some.wait()
            async with self._appender.lock:
                await self._appender.flush()
                for _ in range(_BURST):
                    if not self._pending:
                        break
                    await self._append_next()
            if not self._pending:
                self._some.clear()
            if len(self._pending) < _PENDING_MOST // 2:
                self._room.set()
            self._progress.set()

    async def _append_next(self) -> None:
        """Appends the oldest pending event, with those that join it; none of it changes until it is stored."""
        run = [self._pending.popleft()]
        event = run[0].event
        stored, parts = self._stored
        if event is None or run[0].sequence <= stored:
            self._acked = max(self._acked, run[0].sequence)
            return
        if isinstance(event, Delta) and not parts:
            event = self._joined(event, run)
        sequence = run[-1].sequence
        lines = event.lines()
        for part in range(min(parts, len(lines) - 1), len(lines)):
            # The number of an event stands on the last of its pieces only.
            reach = (sequence, 0) if part == len(lines) - 1 else (stored, part + 1)
            unsaid = Unsaid(f"r{self._numbering}.{sequence}.{part}", event.name, lines[part])
            origin = Origin(self.epoch, self._numbering, *reach)
            try:
                await self._appender.append(unsaid, origin, self._fence, self._stored)
            except Overtaken as overtaken:
                self._stored = overtaken.stored.reach(self._numbering)
                self._pending.extendleft(reversed(run))
                return
            self._stored = reach
        self._acked = sequence

    def _joined(self, event: Delta, run: list[Numbered]) -> Delta:
        """The delta with the pending ones that join it; they move to `run`."""
        texts, size, pending = [event.text], len(event.text), self._pending
        while pending:
            other = pending[0].event
            if not isinstance(other, Delta) or not event.joins(other, size):
                break
            texts.append(other.text)
            size += len(other.text)
            run.append(pending.popleft())
        return Delta(event.name, event.block, "".join(texts)) if len(run) > 1 else event
