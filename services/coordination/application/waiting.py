"""Waits for workers to end: all, any or so many of them (C.4). No connection and no transaction is held meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never

from services.coordination.application.ports import Seen
from services.coordination.application.result_ports import Roll, Standing
from services.coordination.application.watching import Key, Watch, Watches
from services.coordination.domain import errors, limits
from services.kernel.errors import Invalid
from services.kernel.principal import Principal

SECONDS: Final = 60
SECONDS_MOST: Final = 300

Mode = Literal["all", "any", "quorum"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is waited for. `names` empty: every worker that the coordinator has at first. `seconds` 0: 60."""

    session_id: str
    mode: Mode = "all"
    n: int = 0
    names: Sequence[str] = ()
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """How a wait ended. `workers`: where each stands, without its long texts."""

    satisfied: bool
    ended: int
    workers: Sequence[Seen]


class Waiting:
    """The use case."""

    def __init__(self, roll: Roll, watches: Watches) -> None:
        self._roll = roll
        self._watches = watches

    async def wait(self, caller: Principal, wish: Wish) -> AsyncGenerator[Seen | Done, None]:
        """Each worker that has ended, once and as soon as it is known, then `Done`. WORKER_NOT_FOUND at once for a name
        that is not there, and when a worker is deleted; INVALID_ARGUMENT; STREAM_DRAINING when this server stops."""
        until = asyncio.get_running_loop().time() + _seconds(wish)
        key = Key(caller.tenant, wish.session_id)
        waited = {one.id: one for one in _named(await self._roll.all(*key), wish)}
        needed = _needed(wish, len(waited))
        left = {one.id: one.name for one in waited.values() if not one.ended}
        for ids in _by_hundred([one for one in waited if one not in left]):
            for seen in await self._roll.those(*key, ids):
                yield seen
        enough = len(waited) - needed
        if 0 <= enough < len(left):
            async with self._watches.of(key) as watch, aclosing(_ends(watch, left, enough, until)) as ends:
                async for seen in ends:
                    yield seen
        workers = await self._roll.workers(caller.tenant, waited)
        # What was not heard of in time counts too, so that what is said last agrees with what was said before.
        for seen in await self._roll.those(*key, [one.id for one in workers if one.ended and one.id in left]):
            yield seen
        ended = sum(one.ended for one in workers)
        yield Done(ended >= needed, ended, [Seen(replace(one, brief="", cancel_reason="")) for one in workers])


async def _ends(watch: Watch, left: dict[str, str], enough: int, until: float) -> AsyncGenerator[Seen, None]:
    """Those of `left` (names by id) that end, until `enough` are left or the time is over; they leave it."""
    wanted = list(left)
    watch.want(wanted)
    try:
        while True:
            changed = watch.changed
            for one in [one for one in left if one in watch.ended]:
                del left[one]
                yield watch.ended[one]
            if len(left) <= enough:
                return
            if (gone := next((one for one in left if one in watch.gone), None)) is not None:
                raise errors.worker_not_found(left[gone])
            if watch.closed:
                raise errors.draining()
            try:
                async with asyncio.timeout_at(until):
                    await changed.wait()
            except TimeoutError:
                return
    finally:
        watch.forget(wanted)


def _named(standing: Sequence[Standing], wish: Wish) -> list[Standing]:
    """Those that are waited for."""
    if not wish.names:
        return list(standing)
    if len(wish.names) > limits.WORKERS_MOST:
        message = f"names must be at most {limits.WORKERS_MOST}"
        raise Invalid("INVALID_ARGUMENT", message, field="names", limit=limits.WORKERS_MOST)
    by_name = {one.name: one for one in standing}
    for name in wish.names:
        if name not in by_name:
            raise errors.worker_not_found(name)
    return [by_name[name] for name in dict.fromkeys(wish.names)]


def _needed(wish: Wish, count: int) -> int:
    """How many of `count` have to end."""
    match wish.mode:
        case "all":
            needed = count
        case "any":
            needed = 1
        case "quorum":
            needed = wish.n
        case _:
            assert_never(wish.mode)
    if wish.mode == "quorum" and not 1 <= wish.n <= count:
        raise Invalid("INVALID_ARGUMENT", f"n must be 1..{count} with the mode quorum", field="n", limit=count)
    if wish.mode != "quorum" and wish.n:
        raise Invalid("INVALID_ARGUMENT", "n is for the mode quorum alone", field="n")
    return needed


def _seconds(wish: Wish) -> int:
    if not 0 <= wish.seconds <= SECONDS_MOST:
        message = f"timeout_seconds must be 0..{SECONDS_MOST}"
        raise Invalid("INVALID_ARGUMENT", message, field="timeout_seconds", limit=SECONDS_MOST)
    return wish.seconds or SECONDS


def _by_hundred(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[begin : begin + 100] for begin in range(0, len(ids), 100))
