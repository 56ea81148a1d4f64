"""An attachment: one runner's hold on a session. Takes its agent's events, in pieces, into the log (S.5).

A number that is stored already is dropped; adjacent deltas are joined while an append is under way; what is
acknowledged is in the log. It ends with a refusal when a newer Attach took the session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import orjson

from services.streaming.application.agents import AgentNews, Gone, TurnEnd
from services.streaming.application.appender import Fence, Overtaken, SessionAppender
from services.streaming.application.gating import Asked, GateOutcome
from services.streaming.application.ports import Attached
from services.streaming.domain.agent_events import AgentEvent, Delta, Fixed
from services.streaming.domain.log import Entry, Origin, Unsaid
from services.streaming.domain.turn_scan import TurnScan

_PENDING_MOST = 2_048
_BURST = 64
"""Appends between two looks at the session's pending state events."""


class Numbered(NamedTuple):
    """What the agent says with the runner's number: an event, news of its turn's state, or None where the allow-list
    left nothing of it."""

    sequence: int
    event: AgentEvent | AgentNews | None


class Hears(Protocol):
    """Takes news of a turn's state."""

    async def __call__(self, news: AgentNews, scan: TurnScan) -> GateOutcome | None:
        """Done when it answers; the same news may come again."""
        ...


class Says(Protocol):
    """Notes that a turn has said something."""

    async def __call__(self) -> bool:
        """Whether it is noted; else it is asked again with the next event."""
        ...


class Attachment:
    """Run `write()` in a task of its own; `offer()` from whoever reads the runner's stream."""

    def __init__(
        self,
        appender: SessionAppender,
        attached: Attached,
        tail: Entry,
        hears: Hears,
        says: Says,
        scan: TurnScan,
    ) -> None:
        """`tail`: the log's newest entry; `scan`: what the turn under way has said so far."""
        self.epoch = attached.epoch
        self.generation = tail.generation
        self._appender = appender
        self._fence = Fence(attached.epoch, tail.generation)
        self._numbering = attached.numbering
        self._stored = tail.origin.reach(attached.numbering)
        self._acked = self._stored[0]
        self._taken = self._acked
        self._told = self._acked
        self._pending: deque[Numbered] = deque()
        self._some = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._progress = asyncio.Event()
        self._hears = hears
        self._scan = scan
        self._says = says
        self._said = self._scan.heard
        self._answers: list[Any] = []
        self._heard = asyncio.Event()

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

    def nudge(self) -> None:
        """State events may be pending: append them."""
        self._some.set()

    def tell(self, answers: Iterable[Any]) -> None:
        """Something for the runner, beside what is acknowledged."""
        self._answers += answers
        self._heard.clear()
        self._progress.set()

    async def progress(self) -> tuple[int, list[Any]]:
        """Waits until more is acknowledged than was told, or something else is to be told; answers both."""
        while self._told == self._acked and not self._answers:
            self._progress.clear()
            await self._progress.wait()
        self._told = self._acked
        answers, self._answers = self._answers, []
        self._heard.set()
        return self._told, answers

    async def told_all(self) -> None:
        """Waits until what was to be told is on its way; half a second at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await self._heard.wait()

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
        if event is None or run[0].sequence <= stored or self._repeats(event):
            self._acked = max(self._acked, run[0].sequence)
            return
        if isinstance(event, Asked | Gone | TurnEnd):
            await self._hear(event)
            self._acked = run[0].sequence
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
        self._noted(event)
        if not self._said and self._scan.heard:
            self._said = await self._says()
        self._acked = sequence

    async def _hear(self, news: AgentNews) -> None:
        """What is told of state comes after everything that was said before it, and into the stream at once."""
        try:
            outcome = await self._hears(news, self._scan)
        except BaseException:
            self._progress.set()
            raise
        if isinstance(news, TurnEnd):
            self._scan, self._said = TurnScan(), False
        if outcome is not None:
            self.tell([outcome])
        await self._appender.flush()

    def _repeats(self, event: AgentEvent | AgentNews) -> bool:
        """A second start or a second end of a tool's call."""
        if not isinstance(event, Fixed) or event.name != "tool":
            return False
        body = orjson.loads(event.line)
        return not self._scan.admits(body["call_id"], body["status"])

    def _noted(self, event: AgentEvent) -> None:
        if isinstance(event, Delta):
            self._scan.said(event.name, {"delta": event.text, "block": event.block})
        else:
            self._scan.said(event.name, orjson.loads(event.line))

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
