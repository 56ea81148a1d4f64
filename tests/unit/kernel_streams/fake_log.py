"""A log and a store in memory that fail as the real ones may: answers are lost, appends come late, nobody answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Set
from dataclasses import dataclass, field

from services.kernel.errors import Unavailable
from services.kernel.principal import Principal
from services.streaming.application.ports import Attached, NotNext, Page, PendingEvent, SessionKey
from services.streaming.domain.errors import attach_fenced
from services.streaming.domain.log import Entry, Record
from services.streaming.domain.session import Session


@dataclass
class Trouble:
    """How often what goes wrong, 0..1."""

    lost_answer: float = 0.0
    never_came: float = 0.0
    comes_late: float = 0.0
    no_read: float = 0.0


class FakeLog:
    """Fills `SessionLog` for one session."""

    def __init__(self, chance: random.Random, trouble: Trouble) -> None:
        self.entries: list[Entry] = []
        self.trouble = trouble
        self.late: set[asyncio.TimerHandle] = set()
        self._chance = chance
        self._seq = 0

    async def append(self, key: SessionKey, entry: Entry, after: int) -> int:
        """Stores by expectation; sometimes nobody knows."""
        await asyncio.sleep(0)
        fate = self._chance.random()
        trouble = self.trouble
        if fate < trouble.never_came:
            raise _away()
        if fate < trouble.never_came + trouble.comes_late:
            delay = self._chance.random() * 0.12
            self.late.add(asyncio.get_running_loop().call_later(delay, self.store_late, entry, after))
            raise _away()
        seq = self.store(entry, after)
        if fate < trouble.never_came + trouble.comes_late + trouble.lost_answer:
            raise _away()
        return seq

    async def tail(self, key: SessionKey) -> Entry | None:
        """The newest entry."""
        await asyncio.sleep(0)
        if self._chance.random() < self.trouble.no_read:
            raise _away()
        return self.entries[-1] if self.entries else None

    async def find(self, key: SessionKey, event_ids: Set[str], after: int, upto: int) -> set[str]:
        """Exact, or no answer."""
        await asyncio.sleep(0)
        if self._chance.random() < self.trouble.no_read:
            raise _away()
        return {entry.event_id for entry in self.entries if after < entry.seq <= upto} & event_ids

    def lose(self) -> None:
        """The stream is gone; another one begins at 1."""
        self.entries.clear()
        self._seq = 0

    def store(self, entry: Entry, after: int) -> int:
        """Stores by expectation, at once."""
        if after != (self.entries[-1].seq if self.entries else 0):
            raise NotNext
        self._seq += self._chance.randint(1, 3)  # other sessions append too
        self.entries.append(entry._replace(seq=self._seq))
        return self._seq

    def store_late(self, entry: Entry, after: int) -> None:
        """Stores what nobody waits for any more, if it is still the next."""
        try:
            self.store(entry, after)
        except NotNext:
            return


@dataclass
class FakeStore:
    """Fills `SessionStore` for one session."""

    generation: int = 0
    epoch: int = 0
    numbering: int = 0
    tail: tuple[int, int, int] = (0, 0, 0)
    rows: list[PendingEvent] = field(default_factory=list)
    done: set[int] = field(default_factory=set)

    def say(self, name: str, text: str) -> None:
        """A state event to be appended."""
        row = len(self.rows) + 1
        self.rows.append(PendingEvent(row, f"evt_{row}", name, text.encode(), self.tail[2]))

    async def record(self, key: SessionKey) -> Record:
        """As noted."""
        return Record(self.generation, self.tail[0], self.tail[1])

    async def raise_generation(self, key: SessionKey, held: int, to: int) -> bool:
        """Compare and set."""
        await asyncio.sleep(0)
        if self.generation != held:
            return False
        self.generation = to
        self.tail = (*self.tail[:2], 0)
        self.rows = [PendingEvent(r.row, r.event_id, r.name, r.line, 0) for r in self.rows]
        return True

    async def attach(self, key: SessionKey, epoch: int, job_id: str) -> Attached:
        """A new epoch."""
        if epoch and epoch < self.numbering:
            raise attach_fenced(self.generation)
        self.epoch += 1
        if not epoch:
            self.numbering = self.epoch
        return Attached(self.epoch, self.numbering)

    async def pending(self, key: SessionKey) -> list[PendingEvent]:
        """Not noted as sent."""
        await asyncio.sleep(0)
        return [row for row in self.rows if row.row not in self.done]

    async def sent(self, key: SessionKey, rows: list[int], tail: Entry) -> None:
        """Notes them."""
        self.done.update(rows)
        if tail.seq > self.tail[2]:
            self.tail = (tail.generation, tail.n, tail.seq)

    async def create(self, session: Session, caller: Principal, request_id: str, digest: bytes) -> Session:
        """There is one session, always."""
        return session

    async def get(self, key: SessionKey) -> Session:
        """No appender asks for it."""
        raise AssertionError("not asked for")

    async def page(self, tenant: str, after: tuple[str, str] | None, size: int, *, top_level: bool = False) -> Page:
        """No appender asks for it."""
        raise AssertionError("not asked for")

    async def with_pending(self, most: int) -> list[SessionKey]:
        """No appender asks for it."""
        raise AssertionError("not asked for")


def _away() -> Unavailable:
    return Unavailable("BUS_UNAVAILABLE", "nobody answers")
