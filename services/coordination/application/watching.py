"""Who of a coordinator's workers has ended, looked up once for all who wait for it in this process.

A watch lives as long as somebody waits. It is rung after commits and looks by itself once in a while, so that a lost
ring costs a moment; between two looks nothing is held. While bus or database are away it is blind, and goes on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from itertools import islice
from typing import Final, NamedTuple

from services.coordination.application.ports import Seen
from services.coordination.application.result_ports import Roll, WorkerBells
from services.kernel.bus import Bell
from services.kernel.errors import Refusal
from services.kernel.telemetry import get_logger

POLL: Final = 2.0
"""Seconds between two looks that nobody rang for."""
_QUIET: Final = 0.02
"""Seconds between two looks at least: ends that come together are seen together."""
_SEEN_MOST: Final = 100
"""Workers that are read in one go."""
_log = get_logger("coordination.watching")


class Key(NamedTuple):
    """A coordinator."""

    tenant: str
    coordinator_id: str


class Watch:
    """What is known of the workers of a coordinator that somebody waits for. `changed` is set, and made anew, whenever
    `ended` or `gone` grew, or the watch was closed."""

    def __init__(self, key: Key, roll: Roll, poll: float) -> None:
        self.ended: dict[str, Seen] = {}
        self.gone: set[str] = set()
        self.changed = asyncio.Event()
        self.closed = False
        self._key = key
        self._roll = roll
        self._poll = poll
        self._wanted: Counter[str] = Counter()
        self._bell = Bell()

    def want(self, worker_ids: Collection[str]) -> None:
        """They are waited for from now on; there is a look at them soon, whatever happened before."""
        self._wanted.update(worker_ids)
        self._bell.ring()

    def forget(self, worker_ids: Collection[str]) -> None:
        """One waiter less waits for them."""
        self._wanted.subtract(worker_ids)
        for one in worker_ids:
            if self._wanted[one] <= 0:
                del self._wanted[one]
                self.ended.pop(one, None)
                self.gone.discard(one)

    def close(self) -> None:
        """Everybody who waits is told."""
        self.closed = True
        self._tell()

    async def run(self, bells: WorkerBells) -> None:
        """Looks until it is cancelled."""
        while True:
            try:
                async with bells.of_workers(self._key.coordinator_id) as bell:
                    self._bell = bell
                    while True:
                        await self._look()
                        await asyncio.sleep(_QUIET)
                        await bell.wait(self._poll)
            except Refusal as refusal:
                _log.warning("watch.blind", coordinator=self._key.coordinator_id, reason=refusal.reason)
            except Exception:
                _log.exception("watch.failed", coordinator=self._key.coordinator_id)
            await asyncio.sleep(self._poll)

    async def _look(self) -> None:
        wanted = [one for one in self._wanted if one not in self.ended and one not in self.gone]
        if not wanted:
            return
        standing = await self._roll.standing(self._key.tenant, wanted)
        ended = iter([one.id for one in standing if one.ended])
        gone = set(wanted) - {one.id for one in standing}
        while some := list(islice(ended, _SEEN_MOST)):
            for seen in await self._roll.those(*self._key, some):
                self.ended[seen.worker.id] = seen
            self._tell()
        if gone:
            self.gone |= gone
            self._tell()

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class Watches:
    """The watches of this process."""

    def __init__(self, roll: Roll, bells: WorkerBells, poll: float = POLL) -> None:
        self._roll = roll
        self._poll = poll
        self._bells = bells
        self._open: dict[Key, tuple[Watch, asyncio.Task[None]]] = {}
        self._waiting: Counter[Key] = Counter()
        self._closed = False

    @property
    def count(self) -> int:
        """How many coordinators are watched."""
        return len(self._open)

    @asynccontextmanager
    async def of(self, key: Key) -> AsyncIterator[Watch]:
        """The coordinator's watch, for as long as the context is open."""
        if key not in self._open:
            made = Watch(key, self._roll, self._poll)
            self._open[key] = (made, asyncio.create_task(made.run(self._bells), name="coordination.watch"))
        watch, task = self._open[key]
        watch.closed = watch.closed or self._closed
        self._waiting[key] += 1
        try:
            yield watch
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._open[key]
                task.cancel()

    async def close(self) -> None:
        """At the drain: whoever waits, or comes to wait, is sent on."""
        self._closed = True
        for watch, _ in self._open.values():
            watch.close()
