"""Many decisions in one call: each its own transaction and its own outcome, replayed one by one (section 0.12)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from services.kernel.errors import DeadlineExceeded, Refusal, Unavailable
from services.threads.application.commands import Call
from services.threads.application.ports import Store

Decide = Callable[[Call], Awaitable[str]]
"""Takes one decision under the call's key; answers the state that it led to."""
_BEGUN: Final = b"begun"


@dataclass(frozen=True)
class Item:
    """One thread of a batch."""

    thread_id: str
    decide: Decide


@dataclass(frozen=True)
class ItemResult:
    """`state` is the state after, or as the refusal tells it; `refusal` None means that it took effect."""

    thread_id: str
    state: str = ""
    refusal: Refusal | None = None


class Batches:
    """Runs batches. One instance a process."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def decide(self, call: Call, items: Sequence[Item]) -> list[ItemResult]:
        """Every item in order; one refusal never stops the rest.

        A repeat under the same key answers what took effect as it was, and tries again what was refused. The same key
        with another body is refused whole (AlreadyExists). Unavailable passes: the caller repeats.
        """
        async with self._store.work() as work:
            if await work.remember(call.key, call.digest) is None:
                await work.store(call.key, _BEGUN)
        return [await self._one(call, number, item) for number, item in enumerate(items)]

    async def _one(self, call: Call, number: int, item: Item) -> ItemResult:
        key = call.key and call.key._replace(request_id=f"{call.key.request_id}#{number}")
        try:
            return ItemResult(item.thread_id, await item.decide(replace(call, key=key)))
        except (Unavailable, DeadlineExceeded):
            raise
        except Refusal as refusal:
            return ItemResult(item.thread_id, refusal.metadata.get("state", ""), refusal)
