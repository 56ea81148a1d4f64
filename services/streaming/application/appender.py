"""The appender: one per session and replica holds the tail of the session's log and appends behind it (S.1).

It decides nothing about what is said; it makes each event stand in the log once, in order, whatever fails in between.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from services.kernel.errors import Unavailable
from services.kernel.ids import new_id
from services.kernel.telemetry import get_logger
from services.streaming.application.ports import NotNext, SessionKey, SessionLog, SessionStore
from services.streaming.domain.errors import attach_fenced, log_unavailable, session_deleted
from services.streaming.domain.log import DELETED, GENERATION, Entry, Origin, Unsaid

_DEADLINE = 20.0
"""Seconds that one append may take: a leader's death stalls it for 6–8."""
_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_OPENED = Unsaid("", "status", b'{"code":"opened","text":"The stream begins."}')
_log = get_logger("streaming.appender")


@dataclass(frozen=True, slots=True)
class Fence:
    """An Attach may append only in its generation and until a newer Attach writes."""

    epoch: int
    generation: int


class Overtaken(Exception):
    """A part of what this event joins is in the log already, from an earlier Attach whose append came late. Look at
    `stored` and say the rest."""

    def __init__(self, stored: Origin) -> None:
        super().__init__(stored)
        self.stored = stored


class SessionAppender:
    """Hold `lock` around every call."""

    def __init__(self, key: SessionKey, log: SessionLog, store: SessionStore) -> None:
        self.lock = asyncio.Lock()
        self._key = key
        self._log = log
        self._store = store
        self._tail: Entry | None = None
        self._newest_epoch = 0
        self._appended = 0
        self._crossed = 0  # the tail that the newest append was put behind

    def fence(self, epoch: int) -> None:
        """Attaches older than this one are refused from now on."""
        self._newest_epoch = max(self._newest_epoch, epoch)

    async def open(self) -> Entry:
        """The tail that can be appended behind. Reads it from the leader when none is held; an empty log, or one that
        is not the one that Postgres knows, gets a new generation with an opener."""
        pause = _PAUSE
        async with _deadline():
            while self._tail is None:
                try:
                    self._tail = await self._adopt_or_raise()
                except (NotNext, Unavailable):
                    _log.info("appender.open_again", session=self._key.session)
                if self._tail is None:
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
            return self._tail

    async def append(
        self,
        event: Unsaid,
        origin: Origin | None = None,
        fence: Fence | None = None,
        behind: tuple[int, int] = (0, 0),
    ) -> Entry:
        """Appends the event once and answers the tail then. Conflict when the fence does not hold; Unavailable after
        20 s (the event may be stored or not: its id tells, when the log answers again). A runner's event has an
        origin and says `behind` which (sequence, parts) of its numbering it comes: Overtaken when that is not so."""
        done = await self._try(event, origin, fence, behind)
        if done is not None:
            return done
        pause = _PAUSE
        async with _deadline():
            while True:
                known = self._tail
                done = await self._try(event, origin, fence, behind)
                if done is not None:
                    return done
                if self._tail is known:  # no news: not at once again
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)

    async def _try(
        self, event: Unsaid, origin: Origin | None, fence: Fence | None, behind: tuple[int, int]
    ) -> Entry | None:
        tail = self._tail or await self.open()
        if fence is not None:
            self._check(fence, tail)
        if tail.event_id == event.event_id or (origin is not None and tail.origin.covers(origin)):
            return tail
        if origin is not None and tail.origin.reach(origin.numbering) != behind:
            raise Overtaken(tail.origin)
        entry = Entry(0, tail.generation, tail.n + 1, event.event_id, event.name, origin or tail.origin, event.line)
        try:
            seq = await self._log.append(self._key, entry, tail.seq)
        except (NotNext, Unavailable):
            return self._tail if await self._stored(event, tail) else None
        self._tail = entry._replace(seq=seq)
        self._appended, self._crossed = self._appended + 1, tail.seq
        return self._tail

    async def refreshed(self) -> Entry:
        """The tail as the leader has it now: another replica may have appended since."""
        self._tail = None
        return await self.open()

    async def flush(self) -> int:
        """Appends the session's pending state events, in order, each once; answers how many there were."""
        pending = await self._store.pending(self._key)
        if not pending:
            return 0
        missing = {row.event_id for row in pending}
        scanned = min(row.after_seq for row in pending)
        for row in pending:
            tail = await self.open()
            # What others appended since is looked through; what stands behind our own appends is known.
            missing -= await self._log.find(self._key, missing, scanned, tail.seq)
            scanned, appended = tail.seq, self._appended
            if row.event_id in missing and row.name == GENERATION:
                scanned = (await self._begin(row.event_id, scanned)).seq
                missing.discard(row.event_id)
            elif row.event_id in missing:
                tail = await self.append(Unsaid(row.event_id, row.name, row.line))
                missing.discard(row.event_id)
                if self._appended == appended + 1 and self._crossed == scanned:
                    scanned = tail.seq
        assert self._tail is not None
        await self._store.sent(self._key, [row.row for row in pending], self._tail)
        return len(pending)

    async def _begin(self, event_id: str, scanned: int) -> Entry:
        """A new generation, whose opener has this id; the tail then. Whoever sees it in the log leaves it at that."""
        pause = _PAUSE
        async with _deadline():
            while True:
                tail = await self.open()
                if await self._log.find(self._key, {event_id}, scanned, tail.seq):
                    return tail
                opener = await self._raise(event_id, tail)
                if opener is not None:
                    self._tail = opener
                    return opener
                self._tail = None
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    async def _raise(self, event_id: str, tail: Entry) -> Entry | None:
        record = await self._store.record(self._key)
        generation = max(record.generation, tail.generation) + 1
        if not await self._store.raise_generation(self._key, record.generation, generation):
            return None
        opener = Entry(0, generation, 1, event_id, _OPENED.name, tail.origin, _OPENED.line)
        try:
            seq = await self._log.append(self._key, opener, tail.seq)
        except (NotNext, Unavailable):
            return None
        _log.info("session.opened", session=self._key.session, generation=generation)
        return opener._replace(seq=seq)

    async def _adopt_or_raise(self) -> Entry | None:
        record = await self._store.record(self._key)
        tail = await self._log.tail(self._key)
        if tail is not None and record.agrees(tail):
            return tail
        generation = max(record.generation, tail.generation if tail else 0) + 1
        if not await self._store.raise_generation(self._key, record.generation, generation):
            return None  # another replica is at it: look again
        # Only an opener may be the first of its subject, and only who raised the generation appends its opener: were
        # it
        # lost, the next one raises again, and no id is ever given twice.
        origin = tail.origin if tail else Origin()
        opener = Entry(0, generation, 1, new_id("evt"), _OPENED.name, origin, _OPENED.line)
        seq = await self._log.append(self._key, opener, tail.seq if tail else 0)
        _log.info("session.opened", session=self._key.session, generation=generation)
        return opener._replace(seq=seq)

    async def _stored(self, event: Unsaid, tail: Entry) -> bool:
        """After a refusal or no answer: adopts the log's tail, and tells whether the event is behind the old one."""
        try:
            newest = await self._log.tail(self._key)
            if newest is None or newest.seq < tail.seq:
                self._tail = None  # not the log that we knew: open() decides
                return False
            self._tail = newest
            if newest.seq == tail.seq:
                return False
            return event.event_id in await self._log.find(self._key, {event.event_id}, tail.seq, newest.seq)
        except Unavailable:
            # Nothing is known: keep the old tail, ask again before anything is appended.
            self._tail = tail
            return False

    def _check(self, fence: Fence, tail: Entry) -> None:
        if tail.name == DELETED:
            raise session_deleted()
        newest = max(self._newest_epoch, tail.origin.epoch)
        if fence.epoch < newest or fence.generation != tail.generation:
            raise attach_fenced(tail.generation)


class _deadline:  # noqa: N801 - reads as a keyword
    """Bounds a whole append; nested ones keep the outer bound."""

    def __init__(self) -> None:
        self._timeout = asyncio.timeout(_DEADLINE)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, *details: object) -> None:
        try:
            await self._timeout.__aexit__(*details)  # type: ignore[arg-type]
        except TimeoutError as fault:
            raise log_unavailable() from fault
