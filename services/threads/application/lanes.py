"""One lane a family in this replica, ahead of the connection pool: a hot family queues here, not on its rows, so that
the others keep their connections (design/threads.md, section 0.4). A courtesy, never a guard: the row locks decide.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from services.threads.domain.thread import Thread

_KEPT: Final = 20_000


class Lanes:
    """Which family a thread (or a job of it) belongs to never changes, so that it is remembered; the oldest are
    forgotten.
    """

    def __init__(self) -> None:
        self._roots: OrderedDict[str, str] = OrderedDict()
        self._queues: dict[str, tuple[asyncio.Lock, int]] = {}

    def learn(self, key: str, root_id: str) -> None:
        """`key` is a thread or a job of the family."""
        self._roots[key] = root_id
        self._roots.move_to_end(key)
        if len(self._roots) > _KEPT:
            self._roots.popitem(last=False)

    def learn_of(self, thread: Thread, key: str = "") -> None:
        """As `learn`; a thread without a family needs no lane."""
        if thread.parent_id is not None or thread.children:
            self.learn(key or thread.thread_id, thread.root_id)

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[bool]:
        """In the lane of the family, one at a time; False where it is not known, and then nobody is waited for."""
        root = self._roots.get(key)
        if root is None:
            yield False
            return
        queue, waiting = self._queues.get(root, (asyncio.Lock(), 0))
        self._queues[root] = (queue, waiting + 1)
        try:
            async with queue:
                yield True
        finally:
            queue, waiting = self._queues.pop(root)
            if waiting > 1:
                self._queues[root] = (queue, waiting - 1)
