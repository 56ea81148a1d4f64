"""Which rows a command locks: the thread, and as many ancestors as its end would change, ancestors first
(design/threads.md, section 0.4).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from services.kernel.errors import Conflict
from services.threads.application.lanes import Lanes
from services.threads.application.ports import Ancestor, Work
from services.threads.domain.limits import DEPTH_MAX
from services.threads.domain.thread import Thread

R = TypeVar("R")


class HigherNeeded(Exception):
    """More ancestors must be locked than are; the transaction is given up and begun again. Never leaves `Holding`."""

    def __init__(self, reach: int) -> None:
        super().__init__(reach)
        self.reach = reach


class LaneNeeded(Exception):
    """The thread turned out to belong to a family; begun again in its lane. Never leaves `Holding`."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


@dataclass(frozen=True)
class Grip:
    """How much one attempt locks: `reach` ancestors at least; 0: the thread alone, which then must not end."""

    reach: int
    laned: bool


@dataclass(frozen=True)
class Held:
    """A locked thread and the ancestors locked with it, root side first."""

    thread: Thread
    above: Sequence[Thread] = ()


class Holding:
    """Attempts with ever more ancestors, each one a transaction of its own."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes

    async def attempt(self, key: str, reach: int, body: Callable[[Grip], Awaitable[R]]) -> R:
        """Runs `body`, which opens its transaction itself, until it holds enough. `key`: a thread or a job.

        Conflict CONTENDED if that never is (the family keeps growing: give up rather than spin).
        """
        for _ in range(_ATTEMPTS):
            try:
                async with self.lanes.of(key) as laned:
                    return await body(Grip(reach, laned))
            except HigherNeeded as more:
                reach = max(more.reach, reach + 1)
            except LaneNeeded as lane:
                key = lane.key
        raise Conflict("CONTENDED", "others are changing the same family right now: read and try again")

    async def hold(self, work: Work, tenant: str, thread_id: str, grip: Grip) -> Held:
        """Lock the thread, with its ancestors if it may end. ThreadNotFound."""
        if grip.reach == 0:
            return Held(await work.lock(tenant, thread_id))
        if not grip.laned and (root := await work.lock_root(tenant, thread_id)) is not None:
            return Held(root)
        lineage = await work.lineage(tenant, thread_id)
        if not grip.laned:
            self.lanes.learn(thread_id, lineage[0].id)
            raise LaneNeeded(thread_id)
        chain = await work.lock_chain(tenant, _chain(lineage, grip.reach))
        return Held(chain[-1], chain[:-1])

    async def try_hold(self, work: Work, tenant: str, thread_id: str) -> Held | None:
        """As `hold` with all that an end may need, but None at once when somebody else has any of it."""
        lineage = await work.lineage(tenant, thread_id)
        wanted = _chain(lineage, 1)
        chain = await work.try_lock_chain(tenant, wanted)
        return Held(chain[-1], chain[:-1]) if len(chain) == len(wanted) else None


_ATTEMPTS: Final = DEPTH_MAX + 3


def _chain(lineage: Sequence[Ancestor], reach: int) -> list[str]:
    """Ids to lock, root side first: the thread, its parent for the report, one higher while a parent may close."""
    *ancestors, thread = lineage
    wanted = 0
    for ancestor in reversed(ancestors):
        wanted += 1
        if ancestor.open_children > 1 and not ancestor.ends_early:
            break
    wanted = max(wanted, min(reach, len(ancestors)))
    return [*(one.id for one in ancestors[len(ancestors) - wanted :]), thread.id]
