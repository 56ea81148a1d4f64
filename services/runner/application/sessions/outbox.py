"""What the agent said and the owner has not stored yet: numbered, in order, bounded (design/streaming.md S.5).

A full outbox makes the agent wait; nothing is dropped. Neighbouring deltas of one block that are still here are joined.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from services.runner.domain.agent import ActivityDelta, TextDelta
from services.runner.domain.session import Said

BATCH_MOST: Final = 64
BATCH_BYTES: Final = 512 * 1024
DELTA_MOST: Final = 16 * 1024
"""Characters of one delta; a longer one goes in pieces."""
JOINED_MOST: Final = 4 * 1024
_OVERHEAD: Final = 64


@dataclass(slots=True)
class _Entry:
    sequence: int
    said: Said
    size: int


class Outbox:
    """Defaults hold more than 15 s of an agent that says 100 kB/s."""

    def __init__(self, most_events: int = 50_000, most_bytes: int = 16 * 1024 * 1024) -> None:
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._entries: deque[_Entry] = deque()
        self._bytes = 0
        self._newest = 0
        self._sent = 0
        self._changed = asyncio.Event()

    async def put(self, said: Said) -> None:
        """Waits for room."""
        for piece in _pieces(said):
            await self._until(lambda: len(self._entries) < self._most_events and self._bytes < self._most_bytes)
            self._append(piece)

    async def batch(self) -> Sequence[tuple[int, Said]]:
        """The next events that were not sent on this attach, waiting for the first; at most 64, some 512 KiB."""
        await self._until(lambda: self._newest > self._sent)
        found: list[tuple[int, Said]] = []
        size = 0
        skipped = self._sent - (self._entries[0].sequence - 1)
        for place in range(skipped, min(len(self._entries), skipped + BATCH_MOST)):
            entry = self._entries[place]
            if found and size + entry.size > BATCH_BYTES:
                break
            found.append((entry.sequence, entry.said))
            size += entry.size
        self._sent = found[-1][0]
        return found

    def rewind(self, acked: int) -> None:
        """A new attach: everything above `acked` is sent again."""
        self.acked(acked)
        self._sent = self._entries[0].sequence - 1 if self._entries else self._newest
        self._tell()

    def acked(self, sequence: int) -> None:
        """Everything up to there is stored."""
        while self._entries and self._entries[0].sequence <= sequence:
            self._bytes -= self._entries.popleft().size
        self._tell()

    async def emptied(self) -> None:
        """Waits until everything is stored."""
        await self._until(lambda: not self._entries)

    def _append(self, said: Said) -> None:
        last = self._entries[-1] if self._entries else None
        if last is not None and last.sequence > self._sent and (joined := _joined(last.said, said)) is not None:
            grown = _size(joined) - _size(last.said)
            self._bytes += grown
            last.size += grown
            last.said = joined
            return
        self._newest += 1
        size = _OVERHEAD + _size(said)
        self._entries.append(_Entry(self._newest, said, size))
        self._bytes += size
        self._tell()

    def _tell(self) -> None:
        self._changed.set()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()


def _pieces(said: Said) -> list[Said]:
    if not isinstance(said, (ActivityDelta, TextDelta)) or len(said.delta) <= DELTA_MOST:
        return [said]
    return [
        replace(said, delta=said.delta[start : start + DELTA_MOST]) for start in range(0, len(said.delta), DELTA_MOST)
    ]


def _joined(last: Said, said: Said) -> Said | None:
    match (last, said):
        case (ActivityDelta(block=a, delta=one), ActivityDelta(block=b, delta=two)) if a == b:
            joined: Said = ActivityDelta(a, one + two)
        case (TextDelta(block=a, delta=one), TextDelta(block=b, delta=two)) if a == b:
            joined = TextDelta(a, one + two)
        case _:
            return None
    return joined if len(one) + len(two) <= JOINED_MOST else None


def _size(said: Said) -> int:
    """About as many bytes as it takes."""
    match said:
        case ActivityDelta(delta=text) | TextDelta(delta=text):
            return len(text)
        case _:
            return len(repr(said))
